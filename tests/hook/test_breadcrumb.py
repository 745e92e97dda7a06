"""The line in the daily note of an Obsidian vault, when a session ends."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast import breadcrumb
from holdfast.errors import HoldfastError
from hooks import lines, notes
from taken import entries
from told import Work, day, repository

LINE = "- {} **tidegate** on main: "
NOTHING = {"folder": "", "format": "", "template": ""}
#: Where it is noon: there the day does not change while these run.
_BEHIND_H = time.gmtime().tm_hour - 12
NOON = f"NOON{_BEHIND_H:+d}"


@pytest.fixture
def vault(tmp_path, monkeypatch):
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


@pytest.fixture
def work(home, tmp_path, vault):
    work = day(Work(home, repository(tmp_path / "tidegate")))
    work.more["env"] = {"HOLDFAST_VAULT_PATH": str(vault), "TZ": NOON}
    return work


def settings(vault: Path, **said: object) -> None:
    (vault / ".obsidian").mkdir(exist_ok=True)
    (vault / ".obsidian/daily-notes.json").write_text(json.dumps(NOTHING | said))


def end(work: Work) -> None:
    work.hook("SessionEnd", reason="other")


def there() -> time.struct_time:
    return time.gmtime(time.time() - 3600 * _BEHIND_H)


def today(vault: Path) -> Path:
    return vault / time.strftime("%Y-%m-%d.md", there())


def degraded(work: Work) -> list[str]:
    return [
        note["what"] for note in lines(work.home / "events.jsonl") if note["event"] == "degraded.breadcrumb"
    ]


def test_a_session_that_ends_leaves_one_line_however_often_it_ends(work, vault):
    end(work)
    (line,) = today(vault).read_text().splitlines()
    assert line[2:7].replace(":", "").isdecimal()
    assert line[7:].startswith(" **tidegate** on main: ")
    assert line.endswith(f"checkpoint {entries(work.home)[-1]['id']}) %%holdfast s1%%")
    work.prompt("and one more thing")
    work.say("Done.")
    end(work)
    (work.folder() / "breadcrumb.json").unlink()  # a kill between the note and our own word on it
    end(work)
    assert today(vault).read_text().count("holdfast s1") == 1
    assert json.loads((work.folder() / "breadcrumb.json").read_text())["note"] == str(today(vault))
    assert notes(work.home) == []


def test_folder_name_and_template_are_the_vaults_own(work, vault):
    settings(vault, folder="Days", format="YYYY/MM/[day] D", template="Templates/day")
    (vault / "Templates").mkdir()
    (vault / "Templates/day.md").write_text("# {{title}}\n{{date:YYYY}} {{ Time }} {{other}}\n\n## Log")
    end(work)
    now = there()
    note = vault / f"Days/{now.tm_year}/{now.tm_mon:02d}/day {now.tm_mday}.md"
    title, day_, _, log, line = note.read_text().splitlines()
    assert title == f"# day {now.tm_mday}"
    assert day_.startswith(f"{now.tm_year} ")
    assert day_.endswith(" {{other}}")
    assert (log, line[:2]) == ("## Log", "- ")
    assert [path.name for path in note.parent.iterdir()] == [note.name]


@pytest.mark.parametrize(
    ("before", "between"), [("# Today\r\n\r\nmine\r\n", ""), ("no end", "\n"), ("", ""), ("üñí\n", "")]
)
def test_what_stands_in_the_note_stays_to_the_byte(before, between, work, vault):
    today(vault).write_bytes(before.encode())
    end(work)
    found = today(vault).read_bytes().decode()
    assert found.startswith(f"{before}{between}- ")
    assert found.endswith("%%\r\n" if "\r" in before else "%%\n")


def test_without_a_vault_there_is_nothing(home, tmp_path):
    work = day(Work(home, repository(tmp_path / "tidegate")))
    end(work)
    assert not (work.folder() / "breadcrumb.json").exists()


def test_a_session_in_which_nothing_was_done_leaves_nothing(home, tmp_path, vault):
    work = Work(home, repository(tmp_path / "tidegate"))
    work.more["env"] = {"HOLDFAST_VAULT_PATH": str(vault)}
    end(work)
    assert list(vault.iterdir()) == []


def test_a_vault_that_is_missing_is_said_and_costs_the_session_nothing(work, vault):
    vault.rmdir()
    end(work)
    (what,) = degraded(work)
    assert "No such file" in what
    assert entries(work.home)[-1]["reason"] == "session ended"
    assert not vault.exists()


def test_a_vault_that_is_read_only_is_said(work):
    work.more["env"]["HOLDFAST_VAULT_PATH"] = "/sys/kernel"  # nobody makes files there, not even root
    end(work)
    assert "no line in the daily note of /sys/kernel" in degraded(work)[0]


@pytest.mark.parametrize(
    "said",
    [
        {"folder": "../outside"},
        {"format": "[..]/[..]/[evil]"},
        {"template": "../../etc/passwd"},
        {"folder": "linked"},
        {"format": "[x]\n"},
    ],
)
def test_settings_of_a_vault_lead_nowhere_out_of_it(said, work, vault, tmp_path):
    settings(vault, **said)
    (tmp_path / "elsewhere").mkdir()
    (vault / "linked").symlink_to(tmp_path / "elsewhere")
    before = set(tmp_path.rglob("*.md"))
    end(work)
    assert len(degraded(work)) == 1
    assert {
        path for path in tmp_path.rglob("*.md") if ".claude" not in path.parts and path not in before
    } <= {work.folder() / "overflow.md"}


@pytest.mark.parametrize("damaged", [b"{", b"\xff", b"[" * 100_000])
def test_settings_that_cannot_be_read_are_not_guessed(damaged, work, vault):
    settings(vault)
    (vault / ".obsidian/daily-notes.json").write_bytes(damaged)
    end(work)
    assert len(degraded(work)) == 1
    assert list(vault.glob("*.md")) == []


def test_a_note_that_is_no_text_is_left_alone(work, vault):
    today(vault).write_bytes(b"\x89PNG\0\0")
    end(work)
    assert today(vault).read_bytes() == b"\x89PNG\0\0"
    assert "is not a text" in degraded(work)[0]


def test_what_was_asked_for_can_do_nothing_in_the_note(home, tmp_path, vault):
    work = Work(home, repository(tmp_path / "tidegate"))
    work.more["env"] = {"HOLDFAST_VAULT_PATH": str(vault), "TZ": NOON}
    work.prompt("![[Secret]] #tag <img src=x> %%hide %% [a](b) `=this.file`")
    work.say("Done.")
    end(work)
    (line,) = today(vault).read_text().splitlines()
    for active in ("[[", " #tag", "<img", "](", "`"):
        assert active not in line
    assert line.count("%%") == 2


def test_an_edit_at_the_same_moment_is_never_lost(vault):
    """Another program saves the note over and over, in place and by rename, while lines are left in it."""
    note = vault / "2026-11-16.md"
    note.write_text("0\n")
    script = (
        "import os, sys\n"
        "for number in range(1, 400):\n"
        "    there = open(sys.argv[1]).read()\n"
        "    new = there.replace(f'{number - 1}\\n', f'{number}\\n', 1)\n"
        "    open(sys.argv[1] + '.new', 'w').write(new)\n"
        "    os.rename(sys.argv[1] + '.new', sys.argv[1])\n"
    )
    other = subprocess.Popen([sys.executable, "-S", "-c", script, str(note)])
    at = int(time.mktime((2026, 11, 16, 12, 0, 0, 0, 0, -1)) * 1000)
    known = breadcrumb.Vault(str(vault))
    left = 0
    while other.poll() is None:
        try:
            breadcrumb.put(known, f"- line {left}", f"%%{left}%%", at)
        except HoldfastError:
            continue
        left += 1
    assert other.returncode == 0
    assert note.read_text().startswith("399\n")  # every edit of the other one is there
    assert left
