"""What a session is told of those before it, and what those leave behind: days.json, through the hooks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from holdfast.app import Holdfast
from holdfast.clock import new_id, now, rfc3339
from holdfast.core import checkpoint
from holdfast.core.plain import one_line
from holdfast.disk import checkpoints, index
from holdfast.disk.home import Home
from holdfast.material import Ground
from holdfast.ops.checkpoints import list_all
from hooks import PYTHON, copy_package, edit, environ, notes, patient
from taken import entries
from told import Work, git, repository

DAYS: list[dict] = json.loads((Path(__file__).parent / "days.json").read_text())


class Day:
    """Sessions one after the other in one home; `play` gives what went otherwise than the day says."""

    def __init__(self, home: Path, project: Path, tree: Path, package: Path | None = None) -> None:
        self.home, self.places, self.package = home, {"main": project, "tree": tree}, package
        self.known: dict[str, Work] = {}

    def play(self, day: dict) -> list[str]:
        wrong = [one for session in day["sessions"] for one in self._session(session)]
        return wrong + [str(note) for note in notes(self.home)]

    def _session(self, said: dict) -> list[str]:
        name = said["name"]
        work = self.known.get(name) or Work(
            self.home, self.places[said.get("in", "main")], name, package=self.package
        )
        self.known[name] = work
        told, before = work.start(said.get("start", "startup")), len(entries(self.home))
        for verb, *given in said["steps"]:
            getattr(self, f"_{verb}", getattr(work, verb, None))(
                *([work] if hasattr(self, f"_{verb}") else []), *given
            )
        if said.get("end", "exit"):
            work.hook("SessionEnd", reason="prompt_input_exit")
        has_taken = len(entries(self.home)) > before
        where = f"{name} ({said.get('start', 'startup')})"
        wrong = [
            f"{where} is not told {words!r}: {told}" for words in said.get("told", ()) if words not in told
        ]
        wrong += [f"{where} is told {words!r}: {told}" for words in said.get("untold", ()) if words in told]
        if said.get("silent") and told:
            wrong.append(f"{where} is told {told}")
        if "lines" in said and told.count("\n") + 1 != said["lines"]:
            wrong.append(f"{where} is told more than {said['lines']} lines: {told}")
        if has_taken != said["takes"]:
            wrong.append(f"{where} took {'a' if has_taken else 'no'} checkpoint")
        return wrong

    # What happens in a session

    def _prompt(self, work: Work, words: str) -> None:
        work.hook("UserPromptSubmit", prompt=words)
        work.prompt(words)

    def _edit(self, work: Work, name: str, new: str) -> None:
        work.edit(name, new)
        work.hook("PostToolBatch")

    def _reads(self, work: Work, name: str) -> None:
        work.call("Read", (work.project / name).read_text(), file_path=str(work.project / name))

    def _runs(self, work: Work, command: str, output: str) -> None:
        work.call("Bash", output, command=command)

    def _fails(self, work: Work, command: str, output: str) -> None:
        work.fail("Bash", f"Exit code 1\n{output}", command=command)

    def _todo(self, work: Work, todos: list) -> None:
        work.call("TodoWrite", todos=[{"content": content, "status": status} for content, status in todos])

    def _commit(self, work: Work, message: str) -> None:
        git(work.project, "add", ".")
        work.call("Bash", git(work.project, "commit", "-m", message), command=f"git commit -am '{message}'")

    def _command(self, work: Work, name: str) -> None:
        """As the client does it: the prompt, its expansion, and what the command prints."""
        work.hook("UserPromptSubmit", prompt=f"/holdfast:{name}")
        where = environ(self.home, CLAUDE_CODE_SESSION_ID=work.session)
        package = self.package or patient()
        ran = subprocess.run(
            [PYTHON, "-I", "-S", str(package / "launch.py"), "command", name],
            env=where,
            cwd=work.project,
            capture_output=True,
            text=True,
            check=True,
        )
        said = f"holdfast:{name}"
        work.prompt(f"<command-message>{said}</command-message>\n<command-name>/{said}</command-name>")
        work.prompt(ran.stdout, isMeta=True)

    def _compact(self, work: Work) -> None:
        work.compact("They talked.")

    def _stop(self, work: Work) -> None:
        work.hook("Stop")


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    project = repository(tmp_path / "tidegate")
    git(project, "worktree", "add", "-q", str(tmp_path / "tree"))
    return project, tmp_path / "tree"


@pytest.mark.parametrize("day", DAYS, ids=[one_line(day["about"])[:60] for day in DAYS])
def test_the_next_session_goes_on_with_the_work(day: dict, home: Path, places: tuple[Path, Path]) -> None:
    assert not "\n".join(Day(home, *places).play(day))


def test_a_holdfast_that_takes_talk_for_work_would_be_found(
    home: Path, places: tuple[Path, Path], tmp_path: Path
) -> None:
    """The control of the test before."""
    package = copy_package(tmp_path / "careless")
    edit(
        package / "core/workstate.py",
        "    if not _holds_work(sections, known):\n",
        "    if not sections:\n",
    )
    edit(
        package / "core/workstate.py", "    return all(kind(words)", "    return False and all(kind(words)"
    )
    wrong = Day(home, *places, package).play(DAYS[0])
    assert "two (startup) took a checkpoint" in wrong
    assert any(one.startswith("five (startup) is ") for one in wrong)


# Checkpoints of the first version, which do not say whether they hold work


def of_the_first_version(home: Path, project: Path) -> list[str]:
    """first_version.json was left by the first version on the first of these days; its names, oldest
    first."""
    place, kept = project / ".claude/checkpoints", Home(str(home))
    place.mkdir(parents=True)
    key, names = checkpoints.seal_key(kept), []
    ground = Ground(str(project))
    for number, left in enumerate(json.loads((Path(__file__).parent / "first_version.json").read_text())):
        at = now() - (10 - number) * 60_000
        stem = checkpoints.stem_at(at)
        fields = dict.fromkeys(checkpoint.FIELDS, "") | {
            **{
                "id": stem,
                "uid": new_id(at),
                "created": rfc3339(at),
                "project": str(project),
                "branch": "main",
            },
            **{"lineage": ground.lineage, "session_id": left["session"], "commit": ground.commit},
            **{"summary": left["summary"], "reason": left["reason"], "trigger": left["trigger"]},
            **{"iteration": number + 1, "used_tokens": 50_000, "window": 200_000},
        }
        del fields["work"]
        data = checkpoint.render(fields, checkpoint.body(left["sections"]), key)
        path = place / f"{stem}.md"
        path.write_bytes(data)
        entry = index.entry(checkpoint.parse(data, stem).fields, str(path), "project")
        index.add(kept, entry)
        checkpoints.set_head(kept, entry)
        names.append(stem)
    return names


def test_of_what_the_first_version_left_the_work_is_resumed(home: Path, places: tuple[Path, Path]) -> None:
    names = of_the_first_version(home, places[0])
    said = Work(home, places[0], "s9").start("startup")
    assert f"## Resuming from Checkpoint\n{names[1]}, saved 9 minutes ago" in said
    assert "harbour port at 5433" in said
    for talk in ("where were we", "thanks, bye", "25 % full"):
        assert talk not in said
    offered = Work(home, places[0], "s10").start("clear")
    assert names[1] in offered


def test_it_is_listed_with_its_state(home: Path, places: tuple[Path, Path]) -> None:
    of_the_first_version(home, places[0])
    listed = list_all(Holdfast.open(environ(home)))
    assert [row.work for row in listed[::-1]] == ["in progress", "in progress", *["only talk"] * 4]
