"""A scan counts every response once, and reads again only what is new."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast.disk import scans
from holdfast.disk.home import Home
from holdfast.ops import responses, tally
from holdfast.ops.tally import Scan, scan
from made import projects
from scan import by_the_rule

SOURCES = str(Path(tally.__file__).parents[2])


def answer(message: str, output: int = 5, model: str = "claude-opus-4-6", aside: bool = False) -> bytes:
    usage = {"input_tokens": 3, "cache_read_input_tokens": 70, "output_tokens": output}
    said = {"id": message, "model": model, "content": [{"type": "text", "text": "x" * 90}], "usage": usage}
    return json.dumps({"type": "assistant", "isSidechain": aside, "message": said}).encode() + b"\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "projects/p").mkdir(parents=True)
    return tmp_path / "projects"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(str(tmp_path / "home"))


def scanned(home: Home, folder: Path) -> Scan:
    return scan(home, str(folder), lambda done, of: None)


def outputs(made: Scan) -> dict[str, int]:
    """What each file wrote, if any of it counts there."""
    return {name: counted[4] for *_, files in made.sessions for name, counted in sorted(files.items())}


def test_tokens_are_summed_by_file_and_model(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1", 1) + answer("m1", 4) + answer("m2", 7, "claude-haiku"))
    (folder / "p/a/subagents").mkdir(parents=True)
    (folder / "p/a/subagents/agent-x.jsonl").write_bytes(answer("m3", 9, aside=True))
    (folder / "p/notes.txt").write_bytes(answer("m4"))
    (folder / "p/b.jsonl").write_bytes(answer("m5", 8))
    (folder / "p/empty.jsonl").write_bytes(b"")
    for second, name in enumerate(["b.jsonl", "a/subagents/agent-x.jsonl", "a.jsonl"]):
        os.utime(folder / "p" / name, (second, second))
    made = scanned(home, folder)
    files = {"p/a.jsonl": [2, 6, 140, 0, 11], "p/a/subagents/agent-x.jsonl": [1, 3, 70, 0, 9]}
    assert made.sessions == [
        ["p", "a", 2_000_000_000, ["claude-opus-4-6", "claude-haiku"], files],
        ["p", "b", 0, ["claude-opus-4-6"], {"p/b.jsonl": [1, 3, 70, 0, 8]}],
    ]
    assert made.models == {"claude-haiku": [1, 3, 70, 0, 7], "claude-opus-4-6": [3, 9, 210, 0, 21]}
    assert list(made.models) == sorted(made.models)
    assert (made.files, made.bytes) == (4, sum(path.stat().st_size for path in folder.rglob("*.jsonl")))


def test_the_newest_sessions_are_told_alone_if_so_many_were_asked_for(home: Home, folder: Path) -> None:
    for number in range(5):
        (folder / f"p/{number}.jsonl").write_bytes(answer(f"m{number}"))
        os.utime(folder / f"p/{number}.jsonl", (number, number))
    for limit, told in ((2, ["4", "3"]), (2, ["4", "3"]), (9, list("43210")), (0, list("43210"))):
        made = scan(home, str(folder), lambda done, of: None, limit)
        assert [session for _, session, *_ in made.sessions] == told
        assert (made.files, made.models["claude-opus-4-6"][0]) == (5, 5)


def test_any_name_may_be_a_transcripts(home: Home, folder: Path) -> None:
    names = [
        b"a b\n.jsonl",
        b"\n0 1 2 x.jsonl",
        b"1 2 3 4.jsonl",
        b"\xff\xfe.jsonl",
        "é\u2028\r.jsonl".encode(),
    ]
    for number, name in enumerate(names):
        with open(os.fsencode(folder / "p/") + b"/" + name, "wb") as file:
            file.write(answer(f"m{number}", number + 1))
    first = outputs(scanned(home, folder))
    assert {os.fsencode(name): wrote for name, wrote in first.items()} == {
        b"p/" + name: number + 1 for number, name in enumerate(names)
    }
    again = scanned(home, folder)
    assert (again.read, outputs(again)) == (0, first)
    (folder / "p/new.jsonl").write_bytes(answer("new"))
    assert scanned(home, folder).read == len(answer("new"))


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        (answer("m", 5), answer("m", 5), [5, 0]),  # a fork's copy
        (answer("m", 5), answer("m", 8), [0, 8]),  # the copy of one that was not finished
        (answer("m", 5), answer("m", 99, aside=True), [5, 0]),  # an aside that replays the conversation
        (answer("m", 99, aside=True), answer("m", 5), [0, 5]),
        (answer("m", 9) + answer("m", 2), answer("m", 5), [0, 5]),  # in a file its last line stands for it
    ],
)
def test_of_copies_in_several_files_one_counts(
    home: Home, folder: Path, first: bytes, second: bytes, counted: list[int]
) -> None:
    (folder / "p/a.jsonl").write_bytes(first)
    (folder / "p/b.jsonl").write_bytes(second)
    made = outputs(scanned(home, folder))
    assert [made.get("p/a.jsonl", 0), made.get("p/b.jsonl", 0)] == counted


def test_months_of_work_add_up_to_what_parsing_every_line_says(home: Home, tmp_path: Path) -> None:
    projects(tmp_path / "made", 3_000_000, 40_000)
    made = scanned(home, tmp_path / "made/projects")
    for counts in (made.models.values(), [sums for *_, files in made.sessions for sums in files.values()]):
        assert tuple(map(sum, zip(*counts, strict=True)))[1:] == by_the_rule(tmp_path / "made")
    parts = scans.everything(home, str(tmp_path / "made/projects")).values()
    held = sum(len(responses) for _, _, responses in parts)
    assert held > sum(sums[0] for sums in made.models.values()) > 200  # some are copies


def test_nothing_is_read_while_nothing_changes(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1") + answer("m2"))
    first = scanned(home, folder)
    monkeypatch.setattr(responses, "read_on", None)
    again = scanned(home, folder)
    assert (first.read, again.read) == ((folder / "p/a.jsonl").stat().st_size, 0)
    assert outputs(again) == outputs(first) == {"p/a.jsonl": 10}


def test_what_was_appended_is_read_and_no_more(home: Home, folder: Path) -> None:
    path = folder / "p/a.jsonl"
    path.write_bytes(answer("m1") + answer("m2", 6)[:50])
    scanned(home, folder)
    with path.open("ab") as file:
        file.write(answer("m2", 6)[50:] + answer("m1", 9))
    made = scanned(home, folder)
    assert (made.read, outputs(made)) == (len(answer("m2", 6) + answer("m1", 9)), {"p/a.jsonl": 15})


@pytest.mark.parametrize("how", ["in place", "longer in place", "shorter", "another file"])
def test_what_was_rewritten_is_read_from_its_beginning(home: Home, folder: Path, how: str) -> None:
    path = folder / "p/a.jsonl"
    path.write_bytes(answer("m1", 1) + answer("m2", 2))
    scanned(home, folder)
    if how == "another file":
        (folder / "p/new").write_bytes(answer("m1", 1) + answer("m2", 4) + answer("m3", 8))
        (folder / "p/new").rename(path)
    else:
        more = {"in place": b"", "longer in place": answer("m4", 8), "shorter": b""}[how]
        path.write_bytes(answer("m1", 5) + (b"" if how == "shorter" else answer("m3", 6)) + more)
        os.utime(path, ns=(1, 1))
    made = scanned(home, folder)
    assert made.read == path.stat().st_size
    assert outputs(made) == outputs(scanned(Home(home.root + "-fresh"), folder))


def test_a_copy_counts_once_its_original_is_gone(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    (folder / "p/b.jsonl").write_bytes(answer("m1"))
    assert outputs(scanned(home, folder)) == {"p/a.jsonl": 5}
    (folder / "p/a.jsonl").unlink()
    made = scanned(home, folder)
    assert (made.read, outputs(made)) == (0, {"p/b.jsonl": 5})


@pytest.mark.parametrize("seed", range(8))
def test_whatever_happens_to_the_files_the_answer_is_that_of_a_fresh_scan(
    home: Home, folder: Path, seed: int
) -> None:
    chance = random.Random(seed)
    pieces = [b""]

    def some() -> bytes:
        made = [answer(f"m{chance.randrange(12)}", chance.randrange(1, 99), aside=chance.random() < 0.2)]
        made += [made[0][: chance.randrange(len(made[0]))]] if chance.random() < 0.4 else []
        made += [pieces.pop()] if pieces and chance.random() < 0.3 else []
        return b"".join(made)

    for step in range(40):
        path = folder / f"p/{chance.choice('abcd')}.jsonl"
        what = chance.choice(["append", "append", "append", "tear", "rewrite", "copy", "remove", "touch"])
        if what in ("append", "tear"):
            raw = some()
            cut = chance.randrange(len(raw)) if what == "tear" else len(raw)
            pieces.append(raw[cut:])
            with path.open("ab") as file:
                file.write(raw[:cut])
        elif what == "rewrite":
            path.write_bytes(some() + some())
        elif what == "copy":
            path.write_bytes(
                chance.choice([b"", *(one.read_bytes() for one in sorted(folder.glob("p/*.jsonl")))])
            )
        elif what == "remove":
            path.unlink(missing_ok=True)
        if path.exists():
            os.utime(path, ns=(step, step))  # a clock that ticks
        made, fresh = scanned(home, folder), scanned(Home(f"{home.root}-{step}"), folder)
        assert (made.files, made.bytes, made.models) == (fresh.files, fresh.bytes, fresh.models)
        assert made.sessions == fresh.sessions


def test_a_damaged_cache_is_made_anew(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1") + answer("m2"))
    (folder / "p/b.jsonl").write_bytes(answer("m3"))
    good = outputs(scanned(home, folder))
    chance = random.Random(1)
    for cache in sorted(Path(home.scans).glob("*.*")):
        whole = cache.read_bytes()
        head = whole.index(b"\n")
        for at in [0, 5, 12, head - 1, head, head + 1, *(chance.randrange(len(whole)) for _ in range(60))]:
            flipped = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
            for data in (whole[:at], flipped):
                cache.write_bytes(data)
                assert outputs(scanned(home, folder)) == good
                with (folder / "p/b.jsonl").open("ab") as file:  # now all that was kept is needed
                    file.write(answer("m3"))
                cache.write_bytes(data)
                assert outputs(scanned(home, folder)) == good
        assert cache.read_bytes() != whole
        assert scanned(home, folder).read == 0


def test_a_cache_of_another_version_is_made_anew(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    scanned(home, folder)
    caches = sorted(Path(home.scans).glob("*.*"))
    assert len(caches) == 2
    for cache in caches:
        cache.write_bytes(cache.read_bytes().replace(b'{"v":2,', b'{"v":3,', 1))
    assert scanned(home, folder).read > 0
    assert all(cache.read_bytes().startswith(b'{"v":2,') for cache in caches)


def test_files_listed_in_another_order_are_not_read_again(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (folder / f"p/{name}.jsonl").write_bytes(answer("all") + answer(name))
    first = scanned(home, folder)
    really = tally._walk
    monkeypatch.setattr(tally, "_walk", lambda *given: really(*given)[::-1])
    again = scanned(home, folder)
    assert (again.read, again.sessions, again.models) == (0, first.sessions, first.models)


def test_every_folder_has_its_own_cache(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    (folder / "q").mkdir()
    (folder / "q/b.jsonl").write_bytes(answer("m1", 9))
    assert outputs(scanned(home, folder)) == {"q/b.jsonl": 9}
    assert outputs(scanned(home, folder / "p")) == {"a.jsonl": 5}
    assert (scanned(home, folder).read, scanned(home, folder / "p").read) == (0, 0)


def test_a_cache_that_cannot_be_written_costs_only_time(home: Home, folder: Path) -> None:
    Path(home.root).write_text("in the way")
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    for _ in range(2):
        made = scanned(home, folder)
        assert outputs(made) == {"p/a.jsonl": 5}
        assert "could not be kept" in made.problems[0]


def test_a_file_that_cannot_be_read_is_named_and_tried_again(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    (folder / "p/b.jsonl").write_bytes(answer("m2", 7))
    really = responses.read_on

    def refused(path: str, *known: Any) -> responses.Part:
        return really("/nonexistent" if path.endswith("b.jsonl") else path, *known)

    with monkeypatch.context() as patch:
        patch.setattr(responses, "read_on", refused)
        made = scanned(home, folder)
    assert outputs(made) == {"p/a.jsonl": 5}
    assert "nonexistent" in made.problems[0]
    again = scanned(home, folder)
    assert (outputs(again), again.problems) == ({"p/a.jsonl": 5, "p/b.jsonl": 7}, [])


def test_links_are_not_followed(home: Home, folder: Path) -> None:
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    (folder / "p/round").symlink_to(folder)
    (folder / "p/b.jsonl").symlink_to(folder / "p/a.jsonl")
    os.mkfifo(folder / "p/c.jsonl")
    assert outputs(scanned(home, folder)) == {"p/a.jsonl": 5}


def test_several_processes_read_what_one_does(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(9):
        (folder / f"p/{number}.jsonl").write_bytes(answer(f"m{number}", number) + answer("all", number))
    alone = outputs(scanned(home, folder))
    monkeypatch.setattr(tally, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    heard: list[tuple[int, int]] = []
    fresh = Home(home.root + "-fresh")
    made = scan(fresh, str(folder), lambda done, of: heard.append((done, of)))
    assert (outputs(made), made.problems) == (alone, [])
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)
    assert heard[-1] == (made.read, made.read)


def test_an_unchanged_folder_is_answered_without_what_reading_needs(home: Home, folder: Path) -> None:
    """The libraries cost more than the answer."""
    (folder / "p/a.jsonl").write_bytes(answer("m1"))
    scanned(home, folder)
    code = f"""
import sys
sys.path.insert(0, {SOURCES!r})
from holdfast.disk.home import Home
from holdfast.ops.tally import scan
made = scan(Home({home.root!r}), {str(folder)!r}, lambda done, of: None)
assert made.read == 0 and made.sessions
print(*sys.modules)
"""
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    dear = {"msgspec", "re", "typing", "dataclasses", "json", "os", "pathlib"}
    assert dear.isdisjoint(loaded)
    assert "holdfast.ops.tally" in loaded
