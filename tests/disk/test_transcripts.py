"""Catching up with a transcript that grows, tears, shrinks, is replaced, rewound or enormous."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from holdfast.core.lines import LONGEST
from holdfast.core.state import State, parse
from holdfast.disk import transcripts
from holdfast.disk.transcripts import catch_up
from holdfast.errors import BadInput
from made import Session

ALL = 1 << 40
SOURCES = str(Path(transcripts.__file__).parents[2])
#: Where each table names a place in the file: (index of the offset, index of the length).
PLACES = {"prompts": [(1, 2)], "said": [(0, 1)], "edits": [(1, 2), (3, 4)], "commands": [(1, 2), (3, 4)]}
PLACES |= {
    "errors": [(1, 2), (3, 4)],
    "agents": [(1, 2), (3, 4)],
    "rejections": [(0, 1)],
    "plans": [(0, 1)],
}
PLACES |= {"files": [(3, 4)], "tasks": [(1, 2)], "open": [(2, 3)]}


class Talk:
    """Lines of a conversation; `parent` is the line the next one follows."""

    def __init__(self, session: str = "s1", agent: str = "") -> None:
        self.session, self.agent = session, agent
        self.parent: str | None = None
        self.count = 0
        self.context = 30_000

    def line(self, kind: str, **fields: object) -> bytes:
        self.count += 1
        uuid = f"{self.session}-{self.agent}-{self.count}"
        record = {"parentUuid": self.parent, "isSidechain": bool(self.agent), "type": kind, **fields}
        if self.agent:
            record["agentId"] = self.agent
        self.parent = uuid
        return json.dumps({**record, "uuid": uuid, "sessionId": self.session}).encode() + b"\n"

    def prompt(self, text: str) -> bytes:
        return self.line("user", message={"role": "user", "content": text}, promptSource="typed")

    def turn(self, tool: str = "Bash", failed: bool = False, **given: object) -> bytes:
        self.context += 900
        usage = {"input_tokens": 5, "cache_read_input_tokens": self.context, "output_tokens": 50}
        call = f"toolu_{self.session}_{self.agent}_{self.count}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": given or {"command": "pytest -q"}}
        blocks = [{"type": "text", "text": f"I try {call}"}, use]
        message = {"id": f"msg_{call}", "model": "claude-opus-4-6", "content": blocks, "usage": usage}
        block = {
            "type": "tool_result",
            "tool_use_id": call,
            "is_error": failed,
            "content": "Exit code 2 " * 40,
        }
        answer = self.line("assistant", message=message)
        return answer + self.line(
            "user", message={"content": [block]}, toolUseResult={"task": {"id": call}}
        )

    def compaction(self) -> bytes:
        metadata = {"trigger": "auto", "preTokens": self.context, "postTokens": 900}
        self.parent, self.context = None, 9_000
        raw = self.line("system", subtype="compact_boundary", compactMetadata=metadata)
        return raw + self.line("user", message={"content": "so far"}, isCompactSummary=True)


def read(path: Path, agent: str = "") -> State:
    state = State("s1", agent)
    assert catch_up(state, str(path), ALL) == ""
    return state


def plain(state: State, path: Path) -> dict:
    """What was seen, each place replaced by what stands there: comparable between files that hold
    the same lines at different places. Left out is what says how the file was read, not what it says:
    how often it was begun anew, where it stopped, and the number of lines (a record that was read
    before its newline came leaves the newline as a blank line)."""
    seen, data = state.seen, path.read_bytes()
    assert sum(seen.bytes[:3]) == seen.offset - seen.start
    saved = json.loads(json.dumps(seen.to_json()))
    for name in ("identity", "rereads", "reread_why", "offset", "start", "dead", "bytes", "turned"):
        saved.pop(name, None)
    for name, pairs in PLACES.items():
        rows = saved.get(name, [])
        for row in rows.values() if type(rows) is dict else rows:
            for offset, length in pairs:
                row[offset : length + 1] = [data[row[offset] :][: row[length]].decode().rstrip("\n"), ""]
    for name, index in (("errors", 5), ("compactions", 4)):
        for row in saved.get(name, []):
            row[index] = data[row[index] :].split(b"\n")[0].decode() if row[index] else ""
    return saved


def made(path: Path, size: int = 400_000, seed: int = 1) -> Session:
    session = Session(path, "s1", seed)
    session.grow_to(size)
    return session


def write(path: Path, *raw: bytes) -> Path:
    path.write_bytes(b"".join(raw))
    return path


def append(path: Path, raw: bytes) -> None:
    with path.open("ab") as file:
        file.write(raw)


# -- growing


@pytest.mark.parametrize("seed", range(8))
def test_reading_in_increments_of_any_size_equals_reading_at_once(tmp_path, seed):
    made(tmp_path / "whole", seed=seed)
    data = (tmp_path / "whole").read_bytes()
    part, state, at = tmp_path / "part", State("s1"), 0
    dice = random.Random(seed)
    while at < len(data):
        step = dice.choice((1, 7, 300, 5_000, 60_000, data.index(b"\n", at) - at))
        append(part, data[at : at + step])
        at += step
        assert catch_up(state, str(part), ALL) == ""
        if seed % 2 == 0:
            continue
        state = parse(state.render(), "here")  # as between two hooks
    whole = read(tmp_path / "whole")
    got, wanted = plain(state, part), plain(whole, part)
    assert state.seen.rereads == 0
    assert got.pop("meter") == close(wanted.pop("meter"), 0 if seed % 2 == 0 else 0.02)
    assert got == wanted
    assert state.seen.identity == whole.seen.identity
    assert state.seen.bytes[4] == 0


def close(meter: dict, by: float) -> dict:
    """A saved meter is rounded to a tenth, which adds up."""
    return {n: pytest.approx(v, by) if type(v) in (int, float) else v for n, v in meter.items()}


def test_a_line_is_taken_only_when_whole_and_only_once(tmp_path):
    talk = Talk()
    first, second = talk.prompt("do it"), talk.turn()
    path, state = write(tmp_path / "t", first), State("s1")
    catch_up(state, str(path), ALL)
    for cut in range(0, len(second), 97):
        write(path, first, second[:cut])
        assert catch_up(state, str(path), ALL) == ""
        assert state.seen.offset <= path.stat().st_size
    assert state.seen.prompted == 1
    write(path, first, second)
    catch_up(state, str(path), ALL)
    assert (state.seen.turns, state.seen.calls, state.seen.rereads) == (1, 1, 0)
    assert plain(state, path) == plain(read(path), path)


def test_a_last_record_without_newline_is_read_at_once_and_the_next_may_join_its_line(tmp_path):
    talk = Talk()
    first, turn, again = talk.prompt("one"), talk.turn(), talk.prompt("two")
    path, state = write(tmp_path / "t", first[:-1]), State("s1")
    for more in (b"", turn, again[:-1], talk.turn()):
        append(path, more)
        assert catch_up(state, str(path), ALL) == ""
        assert state.seen.offset == path.stat().st_size
    assert (state.seen.prompted, state.seen.turns) == (2, 2)


# -- no longer the file it was


def moved(lines: list[bytes]) -> list[bytes]:
    return lines[:1] + lines[4:] + lines[1:7]


@pytest.mark.parametrize(
    ("why", "change"),
    [
        ("shrunk", lambda data: data[: len(data) // 2]),
        ("shrunk", lambda data: b""),
        ("replaced", lambda data: data.replace(b'"s1"', b'"s2"')),
        ("replaced", lambda data: b"\n" + data),
        ("rewritten", lambda data: b"".join(moved(data.splitlines(keepends=True)))),
    ],
)
def test_a_changed_file_is_noticed_and_read_again(tmp_path, why, change):
    made(tmp_path / "t", 60_000)
    path, state = tmp_path / "t", read(tmp_path / "t")
    write(path, change(path.read_bytes()))
    assert catch_up(state, str(path), ALL) == ""
    assert (state.seen.rereads, state.seen.reread_why) == (1, why)
    assert plain(state, path) == plain(read(path), path)
    assert catch_up(state, str(path), ALL) == ""
    assert state.seen.rereads == 1


def test_a_deleted_file_leaves_what_was_seen_and_a_new_one_is_read(tmp_path):
    made(tmp_path / "t", 60_000)
    path, state = tmp_path / "t", read(tmp_path / "t")
    before = state.render()
    path.unlink()
    assert catch_up(state, str(path), ALL) == "missing"
    assert state.render() == before
    write(path, Talk().prompt("a new beginning"))
    assert catch_up(state, str(path), ALL) == ""
    assert (state.seen.prompted, state.seen.turns, state.seen.rereads) == (1, 0, 1)


def test_a_file_that_was_never_there_is_nothing_to_read(tmp_path):
    assert catch_up(State("s1"), str(tmp_path / "none"), ALL) == ""


def test_a_copy_under_another_inode_is_the_same_transcript(tmp_path):
    session = made(tmp_path / "t", 60_000)
    state = read(session.path)
    shutil.copy(session.path, tmp_path / "copy")
    (tmp_path / "copy").replace(session.path)
    session.turn()
    assert catch_up(state, str(session.path), ALL) == ""
    assert state.seen.rereads == 0
    assert state.seen.to_json() == read(session.path).seen.to_json()


# -- not a file that can be read


def test_a_directory_and_a_pipe_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(BadInput, match="name a file"):
            catch_up(State("s1"), str(path), ALL)


def test_a_file_one_may_not_read_is_an_error_and_not_an_empty_session():
    with tempfile.TemporaryDirectory() as folder:  # tmp_path cannot be entered by another user
        os.chmod(folder, 0o755)
        path = write(Path(folder, "t"), Talk().prompt("secret"))
        path.chmod(0)
        if not (child := os.fork()):
            status = 1
            try:
                if not os.getuid():
                    os.setuid(65534)
                catch_up(State("s1"), str(path), ALL)
            except PermissionError:
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0


# -- long lines and large files


def peak_growth(path: Path) -> tuple[int, int]:
    """(growth of the peak memory in MB, turns seen) of a fresh process that reads a file."""
    program = f"""if True:
        import sys
        sys.path.insert(0, {SOURCES!r})
        from holdfast.core.state import State
        from holdfast.disk.transcripts import catch_up
        def peak():
            for line in open("/proc/self/status"):
                if line.startswith("VmHWM:"):
                    return int(line.split()[1])
        state, before = State("s1"), peak()
        catch_up(state, {str(path)!r}, {ALL})
        print((peak() - before) // 1024, state.seen.turns)
    """
    command = [os.path.realpath(sys.executable), "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    growth, turns = map(int, done.stdout.split())
    return growth, turns


def test_a_file_of_60_mb_is_read_in_little_memory(tmp_path):
    session = made(tmp_path / "t", 60_000_000)
    growth, turns = peak_growth(session.path)
    assert turns == session.number
    assert growth < 25


def test_a_line_too_long_is_skipped_unheld_and_what_follows_is_read(tmp_path):
    talk = Talk()
    path = write(tmp_path / "t", talk.prompt("one"), talk.turn())
    os.truncate(path, 300 << 20)  # a hole: one line of NULs
    append(path, b"\n" + talk.turn())
    growth, turns = peak_growth(path)
    assert turns == 2
    assert growth < 40
    state = read(path)
    assert (state.seen.bytes[3], state.seen.bytes[4]) == (6, 1)
    assert sum(state.seen.bytes[:3]) == path.stat().st_size


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_line_too_dense_is_not_parsed_at_the_end_of_the_file_either(tmp_path, end):
    path = write(
        tmp_path / "t", Talk().prompt("one"), b'{"x":[' + b"{}," * 2_000_000 + b"1]}" + end.encode()
    )
    assert peak_growth(path)[0] < 40


@pytest.mark.parametrize("before", [0, 600_000, 1_000_000])
def test_whether_a_line_is_too_long_does_not_depend_on_where_it_begins(tmp_path, before):
    talk = Talk()
    head = b" " * before + b"\n" + talk.prompt("one")
    long = talk.prompt("x" * (LONGEST + 100_000))
    state = read(write(tmp_path / "t", head, long, talk.prompt("three")))
    assert state.seen.prompted == 2


def test_a_line_too_long_may_end_later(tmp_path):
    talk = Talk()
    path, state = (
        write(tmp_path / "t", talk.prompt("one"), b'{"type":"' + b"x" * (LONGEST + 9)),
        State("s1"),
    )
    for more in (b"", b"y" * 5000, b"z\n" + talk.turn(), talk.prompt("two")):
        append(path, more)
        assert catch_up(state, str(path), ALL) == ""
        assert state.seen.offset == sum(state.seen.bytes[:3]) == path.stat().st_size
        state = parse(state.render(), "here")
    assert (state.seen.prompted, state.seen.turns) == (2, 1)
    got, wanted = plain(state, path), plain(read(path), path)
    assert got.pop("meter") == close(wanted.pop("meter"), 0.02)
    assert got == wanted


# -- newest first


def converge(state: State, path: Path, most: int, meanwhile=lambda: None) -> int:
    for calls in range(2000):
        if not catch_up(state, str(path), most):
            return calls
        meanwhile()
    raise AssertionError("never caught up")


def test_of_more_than_may_be_read_the_newest_comes_first(tmp_path):
    session = made(tmp_path / "t", 3_000_000)
    state = State("s1")
    assert catch_up(state, str(session.path), 200_000) == "behind"
    whole = read(session.path)
    for name in ("context", "given", "cache_read", "cache_creation", "output", "message", "model"):
        assert getattr(state.seen.meter, name) == getattr(whole.seen.meter, name)
    assert 0 < state.seen.turns < whole.seen.turns
    assert 10 < converge(state, session.path, 200_000) < 40
    assert state.seen.to_json() == whole.seen.to_json()


@pytest.mark.parametrize("most", [30_000, 64_000, 300_000, 2_000_000])
def test_reading_in_portions_ends_where_reading_at_once_does(tmp_path, most):
    session = made(tmp_path / "t", 2_500_000)
    state = State("s1")
    grown = iter(range(40))
    converge(state, session.path, most, lambda: session.turn() if next(grown, None) is not None else None)
    assert state.behind is None
    assert state.seen.to_json() == read(session.path).seen.to_json()


def test_lines_larger_than_a_portion_are_read_too(tmp_path):
    talk = Talk()
    parts = [talk.prompt("x" * 700_000) + talk.turn(command="y" * 300_000) for _ in range(4)]
    path, state = (
        write(tmp_path / "t", *parts, b"z" * (LONGEST + 5) + b"\n", *[talk.turn()] * 3),
        State("s1"),
    )
    converge(state, path, 50_000)
    assert plain(state, path) == plain(read(path), path)


# -- rewinds


def rewound(talk: Talk, compacted: bool = False) -> list[bytes]:
    """Lines before a prompt; that prompt and what it led to; and what was asked instead."""
    kept = talk.prompt("first") + talk.turn() + talk.turn("Edit", file_path="/w/a.py")
    parent = talk.parent
    dropped = talk.prompt("second") + talk.turn(failed=True) + talk.turn("Write", file_path="/w/b.py")
    dropped += talk.turn("TaskCreate", subject="x") + talk.turn("TodoWrite", todos=[{"status": "pending"}])
    if compacted:
        dropped += talk.compaction() + talk.turn() + talk.prompt("third") + talk.turn()
    talk.parent = parent
    return [kept, dropped, talk.prompt("second, better") + talk.turn("Read", file_path="/w/a.py")]


@pytest.mark.parametrize("steps", ["at once", "line by line", "between hooks", "in portions"])
@pytest.mark.parametrize("compacted", [False, True])
def test_what_a_rewind_abandoned_was_never_there(tmp_path, compacted, steps):
    kept, dropped, retried = rewound(Talk(), compacted)
    path, state = write(tmp_path / "t", b""), State("s1")
    lines = (kept + dropped + retried).splitlines(keepends=True)
    for line in [b"".join(lines)] if steps in ("at once", "in portions") else lines:
        append(path, line)
        converge(state, path, 3000 if steps == "in portions" else ALL)
        if steps == "between hooks":
            state = parse(state.render(), "here")
    clean = write(tmp_path / "clean", kept, retried)
    got, wanted = plain(state, path), plain(read(clean), clean)
    assert got.pop("meter") == close(wanted.pop("meter"), 0.02 if steps == "between hooks" else 0)
    assert got == wanted
    assert state.seen.compacted == 0


def test_a_rewind_of_a_rewind_leaves_the_last_way_taken(tmp_path):
    talk = Talk()
    kept, dropped, retried = rewound(talk)
    first = json.loads(kept.splitlines()[4])["uuid"]
    again = []
    for text in ("third way", "fourth way", "fifth way"):
        talk.parent = first
        again.append(talk.prompt(text) + talk.turn())
    path = write(tmp_path / "t", kept, dropped, retried, *again, talk.prompt("on") + talk.turn())
    data = path.read_bytes()
    clean = write(tmp_path / "clean", kept, data[data.index(again[-1]) :])
    assert plain(read(path), path) == plain(read(clean), clean)


@pytest.mark.parametrize("seed", range(12))
def test_after_any_rewinds_only_the_way_taken_last_is_left(tmp_path, seed):
    dice, talk = random.Random(seed), Talk()
    every, live, turns = [], [], [(0, None)]  # where each prompt of the live way begins, and under whom
    for _ in range(40):
        if len(turns) > 1 and dice.random() < 0.4:
            back = dice.randrange(1, len(turns))
            begins, talk.parent = turns[back]
            del turns[back:], live[begins:]
        turns.append((len(live), talk.parent))
        more = [talk.prompt(f"step {talk.count}")]
        more += [talk.turn(failed=dice.random() < 0.3) for _ in range(dice.randrange(3))]
        more += [talk.compaction()] if dice.random() < 0.1 else []
        every += more
        live += more
    path, clean = write(tmp_path / "t", *every), write(tmp_path / "clean", *live)
    part, state = tmp_path / "part", State("s1")
    for raw in every:
        append(part, raw)
        catch_up(state, str(part), dice.choice((ALL, 6000)))
        state = parse(state.render(), "here") if dice.random() < 0.2 else state
    converge(state, part, 6000)
    wanted = plain(read(clean), clean)
    assert plain(read(path), path) == wanted
    got = plain(state, part)
    assert got.pop("meter") == close(wanted.pop("meter"), 0.02)
    assert got == wanted


@pytest.mark.parametrize("hooks", [False, True])
def test_a_prompt_retyped_before_it_was_answered_counts_once(tmp_path, hooks):
    talk = Talk()
    kept = talk.prompt("first") + talk.turn()
    parent = talk.parent
    typos = []
    for text in ("secnod", "seccond"):
        talk.parent = parent
        typos.append(talk.prompt(text))
    talk.parent = parent
    retried = talk.prompt("second") + talk.turn()
    path, state = write(tmp_path / "t", kept), State("s1")
    for line in (*typos, retried):
        append(path, line)
        if hooks:
            catch_up(state, str(path), ALL)
            state = parse(state.render(), "here")
    catch_up(state, str(path), ALL)
    clean = write(tmp_path / "clean", kept, retried)
    got, wanted = plain(state, path), plain(read(clean), clean)
    assert got.pop("meter") == close(wanted.pop("meter"), 0.02 if hooks else 0)
    assert got == wanted


def test_the_hundredth_rewind_costs_no_more_than_the_second(tmp_path):
    talk = Talk()
    path, state = write(tmp_path / "t", talk.prompt("first"), talk.turn()), State("s1")
    parent = talk.parent
    for number in range(100):
        talk.parent = parent
        append(path, talk.prompt(f"attempt {number}") + talk.turn())
        catch_up(state, str(path), ALL)
        state = parse(state.render(), "here")
        assert state.seen.rereads <= number
    assert (state.seen.prompted, state.seen.turns) == (2, 2)


@pytest.mark.parametrize(("rewinds", "most", "calls"), [(400, ALL, 1), (20, 60_000, 100)])
def test_any_number_of_rewinds_is_read_to_the_end(tmp_path, rewinds, most, calls):
    """Each apart from the others, more than a state keeps: reading must end, and be right."""
    talk, clean = Talk(), []
    every = []
    for number in range(rewinds):
        parent = talk.parent
        every.append(talk.prompt(f"wrong {number}") + talk.turn())
        talk.parent = parent
        right = talk.prompt(f"right {number}") + talk.turn()
        every.append(right)
        clean.append(right)
    path, state = write(tmp_path / "t", *every), State("s1")
    for _ in range(calls):
        left = catch_up(state, str(path), most)
        if not left:
            break
    assert not left
    wanted = read(write(tmp_path / "clean", *clean)).seen
    assert (state.seen.turns, state.seen.prompted) == (wanted.turns, wanted.prompted)
    assert state.seen.prompted == rewinds


def test_sessions_joined_end_to_end_are_no_rewind(tmp_path):
    parts = [t.prompt("begin") + t.turn() for t in map(Talk, ("s1", "s2", "s3"))]
    state = read(write(tmp_path / "t", *parts))
    assert (state.seen.prompted, state.seen.turns, state.seen.rereads) == (3, 3, 0)


def test_parallel_results_under_one_answer_are_no_rewind(tmp_path):
    talk = Talk()
    path = write(tmp_path / "t", talk.prompt("begin"), talk.turn(), talk.turn())
    records = [json.loads(line) for line in path.read_text().splitlines()]
    records[4]["parentUuid"] = records[2]["parentUuid"] = records[1]["uuid"]
    write(path, *[json.dumps(record).encode() + b"\n" for record in records])
    assert (read(path).seen.turns, read(path).seen.rereads) == (2, 0)


def test_a_rewind_in_a_large_file_reads_no_more_than_allowed(tmp_path):
    session = made(tmp_path / "t", 12_000_000)
    parent = session.parent
    session.prompt()
    state = read(session.path)
    session.turn()
    session.parent = parent
    session.prompt()
    before = bytes_read()
    catch_up(state, str(session.path), 1_000_000)
    assert bytes_read() - before < 4_000_000
    converge(state, session.path, 1_000_000)
    assert plain(state, session.path) == plain(read(session.path), session.path)


def bytes_read() -> int:
    return int(Path("/proc/self/io").read_text().split()[1])


# -- subagents


def test_the_main_view_leaves_out_the_lines_of_subagents(tmp_path):
    path, views = mixed(tmp_path)
    assert plain(read(path), path) == plain(read(views[""]), views[""])


@pytest.mark.parametrize("agent", ["a1", "a2"])
def test_the_view_of_a_subagent_holds_its_own_lines_only(tmp_path, agent):
    path, views = mixed(tmp_path)
    wanted = plain(read(views[agent], agent), views[agent])
    assert wanted["prompted"] >= 2
    path.write_bytes(views["a1"].read_bytes() + views["a2"].read_bytes())
    assert plain(read(path, agent), path) == wanted
    path, _ = mixed(tmp_path)
    assert plain(read(path, agent), path) == wanted


def mixed(folder: Path) -> tuple[Path, dict[str, Path]]:
    """A file of the main chain and two subagents, and each of them alone."""
    talks = [Talk(agent=agent) for agent in ("", "a1", "a2")]
    views: dict[str, list[bytes]] = {talk.agent: [] for talk in talks}
    every = []
    for turn in (0, 1, 2, 1, 0, 2, 2):
        every.append(talks[turn].prompt("go on") + talks[turn].turn())
        views[talks[turn].agent].append(every[-1])
    alone = {agent: write(folder / f"only{agent}", *lines) for agent, lines in views.items()}
    return write(folder / "t", *every), alone


# -- out of time


def test_out_of_time_the_newest_is_read_all_the_same(tmp_path, monkeypatch):
    from holdfast.disk import transcripts

    session = made(tmp_path / "t", 6_000_000)
    ticks = iter(range(10**9))
    monkeypatch.setattr(transcripts, "elapsed", lambda: next(ticks) / 10)
    state = State("s1")
    assert catch_up(state, str(session.path), ALL, 0.3) == "behind"
    assert state.behind is not None
    assert state.seen.start > 0
    monkeypatch.undo()
    newest = read(session.path).seen.meter.context
    assert state.seen.meter.context == newest or state.seen.offset < session.path.stat().st_size
    converge(state, session.path, 1_000_000)
    assert plain(state, session.path) == plain(read(session.path), session.path)
