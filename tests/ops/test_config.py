"""`config`: what is set and by whom, and a config.yaml that is edited by people and by us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.core.config import DEFAULTS
from holdfast.disk import compiled, files, trail
from holdfast.errors import BadInput, NotFound
from holdfast.ops import config, configfile, upkeep
from hooks import notes
from ops.test_configtext import COMMENTED, SEED

BROKEN = "ladder:\n  waring: 75\n"
NEAREST = "line 2: there is no key `ladder.waring`; did you mean `ladder.warning`?"


def opened(home: Path, **environ: str) -> Holdfast:
    return Holdfast.open({"HOLDFAST_HOME": str(home), "HOME": str(home.parent), **environ})


def run(home: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "holdfast", *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | {"HOLDFAST_HOME": str(home), "HOME": str(home.parent)} | environ,
    )


@pytest.fixture
def file(home: Path) -> Path:
    home.mkdir(mode=0o700)
    return home / "config.yaml"


def compile_(home: Path) -> config.Checked:
    return config.compile_now(opened(home))


# What is set, and by whom


def test_defaults_are_below_the_file_below_the_environment_below_flags(home: Path, file: Path) -> None:
    key = "ladder.warning"
    found = [config.get(opened(home), key)]
    file.write_text("ladder:\n  warning: 61\n")
    compile_(home)
    found.append(config.get(opened(home), key))
    found.append(config.get(opened(home, HOLDFAST_LADDER_WARNING="62"), key))
    flagged = config.settled(opened(home, HOLDFAST_LADDER_WARNING="62"), [f"{key}=63"])
    found.append(config.get(flagged, key))
    assert [(one.value, one.source) for one in found] == [
        (70, "default"),
        (61, "file"),
        (62, "environment"),
        (63, "flag"),
    ]


def test_the_command_line_has_all_four(home: Path, file: Path) -> None:
    assert run(home, "config", "set", "ladder.warning", "61").stdout == "ladder.warning is 61 (file)\n"
    assert run(home, "config", "get", "ladder.warning").stdout == "61\n"
    environ = {"HOLDFAST_LADDER_WARNING": "62"}
    assert run(home, "config", "get", "ladder.warning", **environ).stdout == "62\n"
    flagged = run(
        home, "config", "get", "ladder.warning", "--config", "ladder.warning=63", "--json", **environ
    )
    assert json.loads(flagged.stdout)["value"] == 63
    said = run(home, "config", "set", "ladder.warning", "64", **environ).stdout
    assert said == "ladder.warning is 62 all the same: HOLDFAST_LADDER_WARNING is set\n"
    assert run(home, "config", "unset", "ladder.warning").stdout == "ladder.warning is 70 (default)\n"
    assert run(home, "config", "path").stdout == f"{file}\n"


def test_show_lists_every_key_with_its_value_and_source(home: Path) -> None:
    shown = config.show(opened(home, HOLDFAST_COLD_EVERY_TURNS="3"))
    assert [one.key for one in shown.settings] == list(DEFAULTS)
    assert {one.key: one.source for one in shown.settings if one.source != "default"} == {
        "cold.every_turns": "environment"
    }
    lines = str(shown).splitlines()
    assert len(lines) == len(DEFAULTS) + 2
    assert any(line.split()[:3] == ["cold.every_turns", "3", "environment"] for line in lines)


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("ladder.warning", "it takes KEY=VALUE"),
        ("ladder.warning=x", "ladder.warning is 'x'; it takes a whole number from 1 to 100"),
        ("lader.warning=5", "there is no key 'lader.warning'; did you mean `ladder.warning`?"),
        ("ladder.warning=99", "ladder.warning is 99 and ladder.prompt_warning 80, which may not be less"),
    ],
)
def test_a_flag_that_is_wrong_is_refused(home: Path, flag: str, says: str) -> None:
    with pytest.raises(BadInput) as refused:
        config.settled(opened(home), [flag])
    assert says in str(refused.value)


def test_what_the_environment_sets_out_of_order_is_left_out_and_said(home: Path) -> None:
    app = opened(home, HOLDFAST_LADDER_WARNING="90", HOLDFAST_COLD_EVERY_TURNS="3")
    assert (app.config["ladder.warning"], app.config["cold.every_turns"]) == (70, 3)
    assert app.trouble == "ladder.warning is 90 and ladder.prompt_warning 80, which may not be less"


def test_a_variable_that_is_nearly_one_is_named_and_others_are_not(home: Path) -> None:
    near = {"HOLDFAST_LADER_WARNING": "60", "HOLDFAST_HOM": "/x"}
    others = {"HOLDFAST_PYTHON": "/usr/bin/python3", "HOLDFAST_CACHE": "/c", "HOLDFAST_SKIP_CLIENT": "1"}
    app = config.settled(opened(home, **near, **others), [])
    assert app.trouble == (
        "HOLDFAST_LADER_WARNING is set, but means nothing; did you mean HOLDFAST_LADDER_WARNING?; "
        "HOLDFAST_HOM is set, but means nothing; did you mean HOLDFAST_HOME?"
    )
    done = run(home, "usage", HOLDFAST_LADER_WARNING="60")
    assert (done.returncode, "did you mean HOLDFAST_LADDER_WARNING?" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "words", [("get", "ladder.waring"), ("set", "ladder.waring", "5"), ("unset", "ladder.waring")]
)
def test_an_unknown_key_is_refused_with_the_nearest(home: Path, words: tuple[str, ...]) -> None:
    done = run(home, "config", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "holdfast: there is no key 'ladder.waring'; did you mean `ladder.warning`?\n"
    assert not home.exists()


# The file


def test_set_makes_the_file_and_keeps_it_private(home: Path) -> None:
    config.put(opened(home), "auto_context.hooks.git_commit", "no")
    assert (home / "config.yaml").read_text() == "auto_context:\n  hooks:\n    git_commit: false\n"
    assert {oct(path.stat().st_mode & 0o777) for path in home.iterdir()} == {"0o600"}
    assert opened(home).config["auto_context.hooks.git_commit"] is False


def test_set_and_unset_leave_every_other_byte(home: Path, file: Path) -> None:
    file.write_text(COMMENTED)
    config.put(opened(home), "ladder.checkpoint", "55")
    assert file.read_text() == COMMENTED.replace("checkpoint:   50 ", "checkpoint:   55 ")
    config.drop(opened(home), "ladder.checkpoint")
    assert file.read_text() == COMMENTED.replace("    checkpoint:   50     # half\n", "")


def test_what_is_so_already_is_not_written_again(home: Path, file: Path) -> None:
    file.write_text(SEED)
    before = file.stat()
    assert not config.put(opened(home), "auto_context.thresholds.warning", "70").changed
    assert not config.drop(opened(home), "window").changed
    assert file.stat().st_ino == before.st_ino


@pytest.mark.parametrize(
    "text",
    [
        BROKEN,
        "ladder:\n\twarning: 75\n",
        "window: 5000\nwindow: 6000\n",
        "ladder: &a {warning: 75}\nguard: *a\n",
        "ladder: {warning: 79, prompt_warning: 75}\n",
        "window: 'x",
        "[" * 30_000,
    ],
)
def test_a_file_that_is_wrong_is_never_written_over(home: Path, file: Path, text: str) -> None:
    file.write_text(text)
    for edit in (
        lambda: config.put(opened(home), "window", "200000"),
        lambda: config.drop(opened(home), "ladder.warning"),
    ):
        with pytest.raises(BadInput, match="nothing was changed"):
            edit()
    assert file.read_text() == text


def test_a_value_that_is_wrong_with_the_others_is_refused(home: Path, file: Path) -> None:
    file.write_text("ladder:\n  prompt_warning: 72\n")
    with pytest.raises(BadInput, match=r"ladder.warning is 75 and ladder.prompt_warning 72"):
        config.put(opened(home), "ladder.warning", "75")
    with pytest.raises(BadInput, match=r"ladder.warning is '7x'; it takes"):
        config.put(opened(home), "ladder.warning", "7x")
    assert file.read_text() == "ladder:\n  prompt_warning: 72\n"


def test_what_cannot_be_edited_without_changing_more_is_left_to_people(home: Path, file: Path) -> None:
    """After the end of the document nothing can be added."""
    file.write_text("window: 5000\n...\n")
    with pytest.raises(BadInput, match="edit it by hand"):
        config.put(opened(home), "ladder.warning", "75")
    assert file.read_text() == "window: 5000\n...\n"


def test_what_someone_saves_at_that_very_moment_is_not_lost(home: Path, file: Path, monkeypatch) -> None:
    file.write_text("window: 5000\n")
    real = configfile.configtext.read

    def slow(text: str):
        if "warning" in text:  # what was edited is read once more: an editor is quicker
            file.write_text("window: 6000 # by hand\n")
        return real(text)

    monkeypatch.setattr(configfile.configtext, "read", slow)
    with pytest.raises(BadInput, match="changed by someone else"):
        config.put(opened(home), "ladder.warning", "75")
    assert file.read_text() == "window: 6000 # by hand\n"


def test_a_link_stays_a_link(home: Path, file: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "holdfast.yaml"
    real.parent.mkdir()
    real.write_text("window: 5000\n")
    file.symlink_to(real)
    config.put(opened(home), "window", "6000")
    assert file.is_symlink()
    assert real.read_text() == "window: 6000\n"
    assert opened(home).config["window"] == 6000


def test_many_at_once_lose_nothing(home: Path) -> None:
    wanted = {
        "window": "200000",
        "cold.every_turns": "3",
        "brief.tokens": "900",
        "guard.tell_model": "false",
    }
    done: list[subprocess.CompletedProcess[str]] = []

    def set_one(key: str) -> None:
        done.append(run(home, "config", "set", key, wanted[key]))

    threads = [threading.Thread(target=set_one, args=[key]) for key in [*wanted, *wanted]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.stderr for one in done] == [""] * 8
    assert {key: str(config.get(opened(home), key)) for key in wanted} == wanted


# What may stand in its place


def directory(file: Path) -> None:
    file.mkdir()


def loop(file: Path) -> None:
    file.symlink_to(file)


def dangling(file: Path) -> None:
    file.symlink_to(file.parent / "nowhere")


def fifo(file: Path) -> None:
    os.mkfifo(file)


def latin(file: Path) -> None:
    file.write_bytes("# größer\nwindow: 5000\n".encode("latin-1"))


def utf16(file: Path) -> None:
    file.write_bytes("window: 5000\n".encode("utf-16"))


def huge(file: Path) -> None:
    file.write_text("window: 5000\n" + "# x\n" * 2_500_000)


def bomb(file: Path) -> None:
    lines = [
        "a: &a [x, x, x, x]",
        *(f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ]
    file.write_text("\n".join(lines))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (directory, "is a directory; name a file"),
        (loop, "it cannot be read: Too many levels of symbolic links"),
        (dangling, "it is a link that leads nowhere"),
        (fifo, "is not a regular file; name a file"),
        (latin, "line 1: it is not UTF-8; save it as that"),
        (utf16, "line 1: it is not UTF-8; save it as that"),
        (huge, "has 10000013 bytes, more than the 65536 holdfast reads from it"),
        (bomb, "line 1: there is no key `a`"),
    ],
)
def test_whatever_stands_there_is_said_and_what_held_before_holds(
    home: Path, file: Path, make, says: str
) -> None:
    file.write_text("cold:\n  every_turns: 3\n")
    compile_(home)
    file.unlink()
    make(file)
    checked = config.check(opened(home))
    assert not checked.ok
    assert says in str(checked)
    assert not compile_(home).ok
    app = opened(home)
    assert app.config["cold.every_turns"] == (10 if make is dangling else 3)  # which is no file at all
    with pytest.raises(BadInput, match="nothing was changed"):
        config.put(app, "window", "200000")
    done = run(home, "status")
    assert done.returncode == 0
    assert make is dangling or "what it said before still holds" in " ".join(done.stdout.split())


def test_a_file_that_may_not_be_read_is_said(home: Path, file: Path, monkeypatch) -> None:
    """Whoever runs the tests may be allowed to read everything."""
    file.write_text("window: 5000\n")
    compile_(home)

    def refused(path: str, most: int) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(configfile.files, "read", refused)
    assert str(config.check(opened(home))) == f"{file}, it cannot be read: Permission denied"


def test_check_of_another_file(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(SEED)
    checked = str(config.check(opened(home), str(other)))
    assert checked == f"{other}: 6 of {len(DEFAULTS)} keys set, nothing wrong"
    other.write_text(BROKEN)
    done = run(home, "config", "check", str(other))
    assert (done.returncode, done.stdout) == (1, f"{other}, {NEAREST}\n")
    with pytest.raises(NotFound, match="does not exist"):
        config.check(opened(home), str(tmp_path / "none.yaml"))
    assert not home.exists()


# What hooks read of it


def test_every_command_compiles_what_has_changed(home: Path, file: Path) -> None:
    file.write_text("window: 150000\n")
    assert run(home, "config", "get", "window").stdout == "150000\n"
    assert compiled.current(opened(home).home).values == {"window": 150_000}
    assert not opened(home).compiled.is_stale


def test_a_wrong_file_stops_commands_but_not_those_that_mend_it(home: Path, file: Path) -> None:
    file.write_text(BROKEN)
    done = run(home, "usage")
    assert (done.returncode, done.stderr) == (
        2,
        f"holdfast: {file}, {NEAREST} (correct it and run this again)\n",
    )
    for words in (["status"], ["config", "show"], ["uninstall"]):
        assert run(home, *words).returncode == 0, words
    shown = " ".join(run(home, "status").stdout.split())
    assert f"{file}, {NEAREST} (what it said before still holds)" in shown
    file.write_text("ladder:\n  warning: 75\n")
    assert run(home, "usage").returncode == 3  # no sessions: it got that far
    assert "1 set by the file" in run(home, "status").stdout


def test_the_last_good_values_hold_while_the_file_is_wrong(home: Path, file: Path) -> None:
    file.write_text("ladder:\n  warning: 75\n")
    compile_(home)
    file.write_text(BROKEN)
    compile_(home)
    app = opened(home)
    assert (app.config["ladder.warning"], NEAREST in app.trouble) == (75, True)
    file.write_text("ladder:\n  warning: 76\n")
    compile_(home)
    app = opened(home)
    assert (app.config["ladder.warning"], app.trouble) == (76, "")
    said = [(note["event"], NEAREST in note["what"]) for note in notes(home)]
    assert said == [("degraded.config", True), ("degraded.config", False)]


def test_without_the_file_the_defaults_hold_at_once(home: Path, file: Path) -> None:
    file.write_text("window: 150000\n")
    compile_(home)
    file.unlink()
    assert opened(home).config["window"] == 0
    assert not opened(home).compiled.is_stale


def test_a_file_that_was_written_this_very_moment_is_read_a_moment_later(
    home: Path, file: Path, monkeypatch
) -> None:
    """Its time may stay the same if it is written again: nobody would notice."""
    waited = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 1:
            file.write_text("window: 6000\n")

    monkeypatch.setattr(configfile.time, "sleep", sleep)
    file.write_text("window: 5000\n")
    made, of = configfile.read(str(file))
    assert (made.values, of) == ({"window": 6000}, compiled.signature(str(file)))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    waited.clear()
    configfile.read(str(file))
    assert waited == []


def test_a_date_set_back_is_a_change(home: Path, file: Path) -> None:
    file.write_text("window: 5000\n")
    old = file.stat()
    compile_(home)
    file.write_text("window: 6000\n")
    os.utime(file, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert opened(home).compiled.is_stale


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"null",
        b'{"v":2}',
        b"\xff\xfe",
        b"x" * 300_000,
        b'{"v":1,"sum":5,"of":[],"by":"","trouble":"","values":{}}',
    ],
)
def test_what_was_compiled_and_is_damaged_is_set_aside_and_made_again(
    home: Path, file: Path, data: bytes
) -> None:
    file.write_text("window: 150000\n")
    compile_(home)
    (home / "config.json").write_bytes(data)
    app = opened(home)
    assert (app.config["window"], app.compiled.is_stale, app.trouble) == (0, True, "")
    compile_(home)
    assert opened(home).config["window"] == 150_000
    aside = [path.name for path in home.iterdir() if path.name.startswith("config.json.damaged-")]
    assert len(aside) == 1
    assert (home / aside[0]).read_bytes() == data
    assert notes(home)[-1]["aside"] == aside[0]


def test_a_flipped_bit_is_damage(home: Path, file: Path) -> None:
    file.write_text("window: 150000\n")
    compile_(home)
    whole = (home / "config.json").read_bytes()
    for at in range(0, len(whole), 7):
        (home / "config.json").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert opened(home).config["window"] == 0


def test_what_another_version_compiled_counts_as_far_as_it_is_known(home: Path, file: Path) -> None:
    file.write_text("window: 150000\n")
    of = compiled.signature(str(file))
    values = {"window": 5000, "ladder.warning": 500, "no.longer": 3, "guard.tell_model": 1}
    (home / "config.json").write_bytes(configfile.render(compiled.Compiled(values, "", of, "")))
    app = opened(home)
    assert (app.config.file, app.compiled.is_stale) == ({"window": 5000}, True)


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk on which there is room for config.yaml, but for nothing more."""
    replace = files.replace

    def fails(path: str, *args: object, **named: bool) -> None:
        if path.endswith("config.json"):
            raise OSError(28, "No space left on device")
        replace(path, *args, **named)

    monkeypatch.setattr(configfile.files, "replace", fails)


@pytest.mark.usefixtures("full")
def test_where_nothing_can_be_compiled_commands_go_by_the_file_and_status_says_so(
    home: Path, file: Path
) -> None:
    file.write_text("window: 150000\n")
    app = config.settled(opened(home), [])
    assert (app.trouble, app.config["window"]) == ("", 150_000)
    (check,) = (check for check in upkeep.status(app).checks if check.name == "config")
    assert not check.ok
    assert "what hooks read of it cannot be written" in check.what


@pytest.mark.usefixtures("full")
def test_where_nothing_can_be_compiled_a_wrong_file_is_trouble(home: Path, file: Path) -> None:
    file.write_text("widnow: 150000\n")
    app = config.settled(opened(home), [])
    assert app.trouble == f"{file} cannot be compiled: No space left on device"


@pytest.mark.usefixtures("full")
def test_where_nothing_can_be_compiled_a_key_is_set_all_the_same(home: Path, file: Path) -> None:
    changed = config.put(opened(home), "window", "150000")
    assert (changed.value, changed.source, changed.changed) == (150_000, "file", True)
    assert file.read_text() == "window: 150000\n"


def test_nothing_is_made_where_there_is_nothing(home: Path) -> None:
    assert compile_(home).ok
    assert run(home, "config", "show").returncode == 0
    assert not home.exists()


def test_status_says_what_is_set(home: Path) -> None:
    home.mkdir()
    assert f"defaults; {home}/config.yaml would set others" in run(home, "status").stdout
    assert "1 set by the environment" in run(home, "status", HOLDFAST_WINDOW="200000").stdout
    assert "HOLDFAST_WINDOW is 'x'" in run(home, "status", HOLDFAST_WINDOW="x").stdout
    assert trail.recent(opened(home).home) == []


def test_a_file_that_changes_all_the_time_is_read_at_one_moment(home: Path, file: Path) -> None:
    """Each state of it is right, and so is what was read."""
    stop = threading.Event()

    def write() -> None:
        number = 5000
        while not stop.is_set():
            number += 1
            other = file.with_suffix(".new")
            other.write_text(f"window: {number}\n")
            other.rename(file)
            time.sleep(0.03)

    file.write_text("window: 5000\n")
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(5):
            made, of = configfile.read(str(file))
            assert made.problems == []
            assert of
    finally:
        stop.set()
        writer.join()


def test_a_path_is_set_whatever_it_holds(home: Path, file: Path) -> None:
    path = '/home/mira/My: "notes" # all'
    assert run(home, "config", "set", "vault.path", path).returncode == 0
    assert run(home, "config", "get", "vault.path").stdout.strip() == path
    refused = run(home, "config", "set", "vault.path", "notes")
    assert refused.returncode == 2
    assert "begins with / or ~/" in refused.stderr
