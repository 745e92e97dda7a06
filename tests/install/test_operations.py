"""install and uninstall as people meet them: what they refuse, what they say, what they leave."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.disk.wiring import covers
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.install import doctor, leftovers, operations, record
from holdfast.install.operations import install, uninstall
from holdfast.install.settings import EVENTS, Launcher, is_ours
from install.conftest import Machine
from install.steps import in_child
from install.test_jsonedit import MALFORMED

OTHER = Launcher("/usr/bin/python3", "/srv/é/holdfast/launch.py")
LINE = {"type": "command", "command": "~/mine.sh", "padding": 2}


def tree(root: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(root)): (
            path.lstat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in root.rglob("*")
    }


def refused(machine: Machine, kind: type[HoldfastError] = BadInput, project: bool = False) -> str:
    """What install says; not a byte, a time or a name on the whole machine may change."""
    before = tree(machine.root)
    with pytest.raises(kind) as problem:
        install(machine.app, project=project)
    assert tree(machine.root) == before
    return str(problem.value)


@pytest.mark.parametrize("raw", [raw for raw, *_ in MALFORMED])
def test_what_is_not_strict_json_is_refused_untouched(raw: bytes, machine: Machine) -> None:
    machine.write(raw)
    assert "Nothing was changed" in refused(machine)
    if b"launch" not in raw:
        with pytest.raises(BadInput):
            uninstall(machine.app)
    assert machine.settings.read_bytes() == raw
    assert not machine.home.exists()


@pytest.mark.parametrize(
    ("text", "line", "column", "what"),
    [
        ('{"hooks": []}', 1, 11, "`hooks` that is not an object"),
        ('{"hooks": null}', 1, 11, "`hooks` that is not an object"),
        ('{\n"hooks": {"Stop": {}}}', 2, 19, "`hooks.Stop` that is not an array"),
        ('{"hooks": {"Stop": ["x"]}}', 1, 21, "not an object"),
        ('{"hooks": {"Mine": [{"matcher": "x"}]}}', 1, 21, "without an array `hooks`"),
        ('{"hooks": {"Stop": [{"hooks": {}}]}}', 1, 31, "without an array `hooks`"),
        ('{"hooks": {"Stop": [{"matcher": 1, "hooks": []}]}}', 1, 33, "`matcher` is not a string"),
        ('{"hooks": {"Stop": [{"hooks": [7]}]}}', 1, 32, "no object with a `type`"),
        ('{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}', 1, 32, "no object with a `type`"),
    ],
)
def test_hooks_of_the_wrong_shape_are_refused_with_their_place(
    machine: Machine, text: str, line: int, column: int, what: str
) -> None:
    machine.write(text)
    message = refused(machine)
    assert f"line {line}, column {column}: " in message
    assert what in message


def test_every_event_of_the_table_is_wired_after_the_hooks_of_others(machine: Machine) -> None:
    theirs = {"matcher": "*", "hooks": [{"type": "command", "command": "theirs"}]}
    machine.write(json.dumps({"hooks": {"Stop": [theirs], "Notification": [theirs]}, "statusLine": LINE}))
    done = install(machine.app)
    data = json.loads(machine.settings.read_bytes())
    assert list(data["hooks"]) == ["Stop", "Notification", *(e for e in EVENTS if e != "Stop")]
    assert data["hooks"]["Notification"] == [theirs]
    assert data["hooks"]["Stop"][0] == theirs
    for event, (timeout, is_async) in EVENTS.items():
        (hook,) = data["hooks"][event][-1]["hooks"]
        assert (hook["timeout"], hook.get("async", False)) == (timeout, is_async)
    tested, _, run = data["hooks"]["Stop"][1]["hooks"][0]["command"].partition(" || exit 0; ")
    words = run.removesuffix("; }").split()
    assert tested == f"{{ [ -x {words[1]} ] && [ -r {words[4]} ]"
    assert words[:1] + words[2:4] == ["exec", "-I", "-S"]
    assert all(os.path.realpath(word) == word and os.path.exists(word) for word in (words[1], words[4]))
    assert data["statusLine"]["command"].endswith("/holdfast/launch.py statusline; }")
    assert "with yours in it" in done.statusline
    known = record.of(machine.app.home, str(machine.settings))
    assert known is not None
    assert known.statusline_before == LINE
    assert Path(known.backup).read_bytes() == record.original(known)
    assert re.fullmatch(r"settings-\d{8}T\d{6}Z-[0-9a-f]{8}\.json", Path(known.backup).name)


def test_the_wired_command_runs(machine: Machine) -> None:
    install(machine.app)
    data = json.loads(machine.settings.read_bytes())
    command = data["hooks"]["SessionStart"][0]["hooks"][0]["command"]
    payload = json.dumps({"session_id": "s1", "hook_event_name": "SessionStart", "source": "startup"})
    environ = {"HOME": str(machine.root), "PATH": os.defpath}
    done = subprocess.run(
        command, shell=True, input=payload, env=environ, capture_output=True, text=True, check=True
    )
    assert (done.stderr, (machine.home / "sessions/s1/state.json").exists()) == ("", True)


@pytest.mark.parametrize("gone", ["python", "launch"])
@pytest.mark.parametrize("kind", ["hook", "statusline"])
def test_a_command_whose_interpreter_or_package_has_gone_is_silent(
    machine: Machine, gone: str, kind: str
) -> None:
    """127 is an error that the client shows at every event, 2 tells it to block."""
    here = operations._launcher()
    moved = replace(here, **{gone: str(machine.root / "has gone" / Path(getattr(here, gone)).name)})
    command = moved.command if kind == "hook" else moved.statusline["command"]
    environ = {"HOME": str(machine.root), "PATH": os.defpath}
    done = subprocess.run(command, shell=True, input=b"{}", env=environ, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize(
    "form",
    [
        "exec {python} -I -S {launch}{more}",
        "{{ [ -r {launch} ] || exit 0; exec {python} -I -S {launch}{more}; }}",
    ],
)
def test_what_an_older_version_wrote_is_brought_up_to_date(machine: Machine, form: str) -> None:
    """Whichever way it was guarded: recognised, replaced where it stands, and gone to the byte."""
    raw = machine.write('{"model": "opus"}')
    install(machine.app)
    newest = machine.settings.read_text()
    here = operations._launcher()
    older = newest
    for command, more in ((here.command, ""), (here.statusline["command"], " statusline")):
        written = form.format(python=here.python, launch=here.launch, more=more)
        older = older.replace(json.dumps(command), json.dumps(written))
    assert older.count("exec ") == newest.count("exec ")
    machine.settings.write_text(older)
    assert [check for check in doctor._wiring(machine.app) if not check.ok] == []
    assert install(machine.app).changed
    assert machine.settings.read_text() == newest
    assert not install(machine.app).changed
    machine.settings.write_text(older)
    uninstall(machine.app, verify=True)
    assert json.loads(machine.settings.read_bytes()) == json.loads(raw)


def test_a_second_install_changes_nothing_at_all(machine: Machine) -> None:
    machine.write('{"statusLine": "odd"}')
    install(machine.app)
    before = tree(machine.root)
    assert not install(machine.app).changed
    assert tree(machine.root) == before


def _of_statusline(command: str) -> str:
    return command.removesuffix("; }") + " statusline; }"


def test_another_interpreter_replaces_only_our_entries_where_they_stand(
    machine: Machine, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = machine.write('{"hooks": {"Stop": [ ]}, "statusLine": {"command": "x", "type": "command"}}\n')
    install(machine.app)
    text = machine.settings.read_text()
    assert elsewhere in json.loads(text)["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert "'/opt/my python/bin/python3.13'" in elsewhere
    monkeypatch.setattr(operations, "_launcher", lambda: OTHER)
    install(machine.app)
    now = machine.settings.read_text()
    for named in (str, _of_statusline):
        text = text.replace(json.dumps(named(elsewhere))[1:-1], json.dumps(named(OTHER.command))[1:-1])
    assert now == text
    uninstall(machine.app)
    assert machine.settings.read_bytes() == raw


def test_what_an_older_version_wired_twice_or_elsewhere_is_put_right(machine: Machine) -> None:
    old = {"type": "command", "command": "exec /old/python -I -S '/o l d/holdfast/launch.py'"}
    theirs = {"type": "command", "command": "theirs"}
    hooks = {
        "Stop": [{"hooks": [theirs, old]}, {"matcher": "", "hooks": [old]}],
        "PreToolUse": [{"hooks": [old]}],
        "Notification": [{"hooks": [old, theirs]}],
    }
    machine.write(json.dumps({"hooks": hooks}, indent=2))
    install(machine.app)
    data = json.loads(machine.settings.read_bytes())["hooks"]
    assert [is_ours(hook) for hook in data["Stop"][0]["hooks"]] == [False, True]
    assert len(data["Stop"]) == 1
    assert "PreToolUse" not in data
    assert data["Notification"] == [{"hooks": [theirs]}]
    uninstall(machine.app, verify=True)
    left = json.loads(machine.settings.read_bytes())
    assert left == {"hooks": {"Stop": [{"hooks": [theirs]}], "Notification": [{"hooks": [theirs]}]}}


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("exec /usr/bin/python3 -I -S /x/holdfast/launch.py", True),
        ("exec '/a b/python' -I -S '/x y/holdfast/launch.py' statusline", True),
        ("HOLDFAST_WINDOW=1 python3 /x/holdfast/launch.py", True),
        ("python3 /x/holdfast/launch.python", False),
        ("python3 /x/myholdfast/launch.py", False),
        ("echo 'unclosed /x/holdfast/launch.py", False),
        ("claude-notify", False),
    ],
)
def test_ours_is_what_runs_our_launcher(command: str, ours: bool) -> None:
    assert is_ours({"type": "command", "command": command}) is ours


def test_without_the_statusline_theirs_is_left_alone(machine: Machine) -> None:
    raw = machine.write(json.dumps({"statusLine": LINE}))
    done = install(machine.app, statusline=False)
    assert json.loads(machine.settings.read_bytes())["statusLine"] == LINE
    assert done.statusline == "left alone"
    uninstall(machine.app)
    assert machine.settings.read_bytes() == raw


@pytest.mark.parametrize("before", [{}, {"statusLine": LINE}])
def test_the_statusline_can_be_given_up_again(machine: Machine, before: dict) -> None:
    raw = machine.write(json.dumps(before))
    install(machine.app)
    assert is_ours(json.loads(machine.settings.read_bytes())["statusLine"])
    for changed in (True, False):
        done = install(machine.app, statusline=False)
        wired = json.loads(machine.settings.read_bytes())
        assert (done.changed, done.statusline, wired.get("statusLine")) == (
            changed,
            "left alone",
            before.get("statusLine"),
        )
        assert len(wired["hooks"]) == len(EVENTS)
    uninstall(machine.app, verify=True)
    assert machine.settings.read_bytes() == raw


def test_a_projects_settings_at_the_end_of_a_link_are_known_by_the_project(machine: Machine) -> None:
    """The plugin's hooks ask, so that each event is handled once."""
    elsewhere = machine.root / "dotfiles"
    elsewhere.mkdir()
    (machine.project / ".claude").symlink_to(elsewhere)
    install(machine.app, project=True)
    assert (elsewhere / "settings.json").exists()
    assert covers(machine.app.home, str(machine.project))
    assert not covers(machine.app.home, str(elsewhere))
    uninstall(machine.app, project=True, verify=True)
    assert list(elsewhere.iterdir()) == []


def test_a_permission_that_names_holdfast_is_the_users_own(machine: Machine) -> None:
    """They gave it; it is left, told, and no reason to fail. A hook that runs us is one."""
    install(machine.app)
    rule = {"permissions": {"allow": ["Bash(/opt/python -I -S /x/holdfast/launch.py command:*)"]}}
    machine.settings.write_text(json.dumps({**json.loads(machine.settings.read_bytes()), **rule}))
    done = uninstall(machine.app, verify=True)
    assert done.named == [f"{machine.settings}: permissions.allow[0]"]
    assert f"yours, and without effect now: {done.named[0]}" in str(done)
    assert json.loads(machine.settings.read_bytes()) == rule
    wrapped = {"type": "command", "command": "sh -c '/opt/python /x/holdfast/launch.py; true'"}
    machine.settings.write_text(json.dumps({**rule, "hooks": {"Stop": [{"hooks": [wrapped]}]}}))
    with pytest.raises(HoldfastError, match=r"is left:\n  \S+: hooks.Stop\[0\]"):
        uninstall(machine.app, verify=True)


def test_a_file_and_folder_that_were_not_there_are_gone_again(machine: Machine) -> None:
    install(machine.app)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (machine.settings, machine.client)] == [
        0o600,
        0o700,
    ]
    assert uninstall(machine.app, verify=True, purge=True).home == ""
    assert list(machine.root.iterdir()) == [machine.project]


def test_a_project_is_wired_beside_the_user_and_undone_alone(machine: Machine) -> None:
    user = machine.write("{}")
    install(machine.app)
    install(machine.app, project=True)
    project = machine.project / ".claude/settings.json"
    assert project.read_text().count(" -I -S ") == len(EVENTS) + 1
    with pytest.raises(BadInput, match="is wired, too"):
        uninstall(machine.app, purge=True)
    with pytest.raises(HoldfastError, match=r"project/.claude/settings.json: hooks.SessionStart\[0\]"):
        uninstall(machine.app, verify=True)
    assert machine.settings.read_bytes() == user
    uninstall(machine.app, project=True, verify=True)
    assert not project.parent.exists()
    assert record.load(machine.app.home) == []


def test_a_file_the_user_went_on_with_stays_after_install_had_made_it(machine: Machine) -> None:
    install(machine.app)
    data = json.loads(machine.settings.read_bytes())
    machine.write(json.dumps({"model": "opus", **data}))
    assert "taken out" in uninstall(machine.app).outcome
    assert json.loads(machine.settings.read_bytes()) == {"model": "opus"}


def test_mode_and_links_are_kept(machine: Machine) -> None:
    target = machine.root / "dotfiles.json"
    target.write_text("{}")
    target.chmod(0o640)
    machine.client.mkdir()
    machine.settings.symlink_to("../dotfiles.json")
    install(machine.app)
    assert machine.settings.is_symlink()
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert b"launch.py" in target.read_bytes()
    uninstall(machine.app, verify=True)
    assert (machine.settings.is_symlink(), target.read_bytes()) == (True, b"{}")
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


def test_a_link_out_of_the_home_a_loop_and_a_dangling_one_are_refused(machine: Machine) -> None:
    machine.client.mkdir()
    outside = machine.root.parent / "etc.json"
    outside.write_text("{}")
    machine.settings.symlink_to(outside)
    assert "outside your home" in refused(machine)
    assert "not wired" in uninstall(machine.app).outcome
    machine.settings.unlink()
    machine.settings.symlink_to("nowhere.json")
    assert "does not exist" in refused(machine)
    machine.settings.unlink()
    machine.settings.symlink_to("settings.json")
    assert "symbolic links" in refused(machine, HoldfastError)


def test_a_directory_a_fifo_and_a_read_only_file_are_refused(machine: Machine) -> None:
    machine.settings.mkdir(parents=True)
    assert "is a directory" in refused(machine)
    machine.settings.rmdir()
    os.mkfifo(machine.settings)
    with pytest.raises(BadInput, match="not a regular file"):
        install(machine.app)
    machine.settings.unlink()
    machine.write("{}")
    machine.settings.chmod(0o444)
    assert "chmod u+w" in refused(machine)
    assert "not wired" in uninstall(machine.app).outcome
    machine.settings.unlink()
    machine.client.rmdir()
    machine.client.write_text("a file where the folder should be")
    assert "Not a directory" in refused(machine, HoldfastError)


def test_without_permission_it_says_so(machine: Machine) -> None:
    """As another user, because the tests may run as root, to whom nothing is forbidden."""
    machine.write("{}")
    machine.settings.chmod(0o600)

    def run() -> None:
        if os.geteuid() == 0:
            os.setuid(65534)
        else:
            machine.settings.chmod(0o200)
        with pytest.raises(HoldfastError, match=r"settings.json: Permission denied"):
            install(machine.app)

    assert in_child(run) == 0
    assert not machine.home.exists()


def test_a_lost_record_or_backup_costs_only_exactness(machine: Machine) -> None:
    machine.write('{"hooks": { }, "a": 1}')
    install(machine.app)
    for backup in (machine.home / "backups").iterdir():
        backup.write_text("{}")
    assert "taken out" in uninstall(machine.app).outcome
    assert machine.settings.read_text() == '{"hooks": {}, "a": 1}'
    machine.write('{"a": 1}')
    install(machine.app)
    (machine.home / "install.json").unlink()
    uninstall(machine.app, verify=True)
    assert machine.settings.read_text() == '{"a": 1}'


@pytest.mark.parametrize("text", ["", "[]", "{", '{"v": 2, "wirings": []}', '{"v": 1, "wirings": [{}]}'])
def test_a_damaged_record_is_named_and_nothing_changes(machine: Machine, text: str) -> None:
    machine.write("{}")
    machine.home.mkdir()
    (machine.home / "install.json").write_text(text)
    assert "move it away" in refused(machine, Damaged)


def test_a_home_with_something_of_others_is_not_purged(machine: Machine) -> None:
    raw = machine.write("{}")
    install(machine.app)
    (machine.home / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match=r"did not make thesis.tex"):
        uninstall(machine.app, purge=True)
    assert machine.settings.read_bytes() != raw
    uninstall(machine.app)
    assert (machine.home / "thesis.tex").exists()


def test_everything_the_formats_page_puts_into_home_may_be_purged() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/formats.md").read_text().partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]+) \|", page, re.MULTILINE)
    names = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    tops = {name.partition("/")[0] for name in names if not name.startswith(("<", "…"))}
    set_aside = {name for name in tops if name.startswith(leftovers._SET_ASIDE)}
    named = ("config.json.", "habits.json.", "memory.db.", "seal.key.")
    assert set_aside == {f"{name}damaged-<time>" for name in named}
    assert tops - set_aside <= leftovers._OURS


def test_verify_finds_what_is_not_even_json(machine: Machine) -> None:
    local = machine.project / ".claude/settings.local.json"
    local.parent.mkdir()
    local.write_text("{\n// exec python /x/holdfast/launch.py\n}")
    with pytest.raises(HoldfastError, match=r"settings.local.json: line 2"):
        uninstall(machine.app, verify=True)


def run(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    environ = os.environ | {"HOME": str(machine.root), "CLAUDE_CONFIG_DIR": str(machine.client)}
    command = [sys.executable, "-m", "holdfast", *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=60, check=False)


def test_the_commands_say_what_they_did(machine: Machine) -> None:
    machine.write('{\n  "model": "opus"\n}\n')
    before = tree(machine.root)
    dry = run(machine, "install", "--dry-run")
    assert dry.stdout.startswith(f"--- {machine.settings}")
    assert '-  "model": "opus"\n+  "model": "opus",\n+  "hooks": {\n' in dry.stdout
    assert tree(machine.root) == before
    done = run(machine, "install")
    assert (done.returncode, f"wired {len(EVENTS)} hooks in {machine.settings}" in done.stdout) == (0, True)
    assert "holdfast uninstall" in done.stdout
    assert "nothing to do" in run(machine, "install").stdout
    assert json.loads(run(machine, "install", "--json").stdout)["changed"] is False
    gone = run(machine, "uninstall", "--verify")
    assert (gone.returncode, "to the byte" in gone.stdout, "nothing" in gone.stdout) == (0, True, True)
    again = run(machine, "uninstall")
    assert (again.returncode, "holdfast is not wired here" in again.stdout) == (0, True)
    machine.write("{")
    bad = run(machine, "install")
    assert (bad.returncode, bad.stderr.startswith("holdfast: ")) == (2, True)


def test_every_key_of_the_record_is_described(machine: Machine) -> None:
    machine.write(json.dumps({"statusLine": LINE}))
    install(machine.app)
    page = (Path(__file__).resolve().parents[2] / "docs/formats.md").read_text()
    section = page.partition("## install.json")[2].partition("\n## ")[0]
    (wiring,) = json.loads((machine.home / "install.json").read_bytes())["wirings"]
    assert {
        name for row in re.findall(r"^\| (`[^|]+) \|", section, re.M) for name in row.split("`")[1::2]
    } == set(wiring)
