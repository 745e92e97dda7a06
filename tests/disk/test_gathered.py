"""The facts of a session on disk: however they were gathered, they are the same."""

import json
import random

import pytest

from composed import PROJECT, edited, everything, ran
from gathering import facts_of, said
from holdfast.core.facts import VERSION, Facts
from holdfast.core.redact import Redactor
from holdfast.core.seen import Seen
from holdfast.core.state import State
from holdfast.disk import gathered, late, speech, transcripts
from holdfast.disk.home import Home
from hooks import lines as noted
from planted import everything as secrets
from session import Script, text, use

ALL = 1 << 40


class Session:
    """A transcript, and the facts gathered from it as the hooks do: state first, then facts, both saved."""

    def __init__(self, folder, agent="", session="s1"):
        self.home = Home(str(folder / "home"))
        self.path = folder / f"{session}{agent}.jsonl"
        self.session, self.agent = session, agent
        self.state = State(session, agent)
        (folder / "home" / "sessions" / session / ("agents/" + agent if agent else "")).mkdir(parents=True)
        self.file = (
            folder / "home" / "sessions" / session / (f"agents/{agent}/" if agent else "") / "facts.json"
        )

    def gather(self, data, most=ALL, seconds=1e9):
        self.path.write_bytes(data)
        transcripts.catch_up(self.state, str(self.path), ALL)
        known = gathered.load(self.home, self.state)
        facts = gathered.bring_up(known, self.state, str(self.path), Redactor(b"k").text, most, seconds)
        gathered.save(self.home, self.state, facts)
        return facts


def content(facts):
    """All that was gathered, without how."""
    return facts.units, facts.sayings, facts.touched.__dict__, facts.turns, facts.prompts, facts.branch


def long_session():
    script = everything("")
    for number in range(40):
        script.prompt(f"Please keep rule {number}, never drop it")
        call = f"x{number}"
        script.answer(
            text(f"Deciding on option{number} because it is simpler."),
            use(call, "Bash", command=f"make gauge{number}"),
            message=f"msg_both_{number}",
        )
        script.result(call, f"built src/gauge{number}.py")
        edited(script, f"{PROJECT}/src/gauge{number}.py", "", f"def poll_{number}(): pass")
        if number % 8 == 7:
            script.boundary()
            script.prompt(f"Summary:\nEverything up to rule {number} is done.", isCompactSummary=True)
        if number % 16 == 3:
            script.line("attachment", attachment={"type": "hook_additional_context", "content": ["x"]})
    ran(script, "git commit -m 'Fix it'", "[main 1a2b3c4] Fix it")
    return script


@pytest.mark.parametrize("seed", range(12))
def test_in_any_number_of_steps_the_facts_are_those_of_one(seed, tmp_path):
    data = long_session().bytes()
    choose = random.Random(seed)
    ends = [at + 1 for at in range(len(data)) if data[at : at + 1] == b"\n"]
    cuts = [*sorted(choose.sample(ends, choose.choice([1, 2, 5, 30]))), len(data)]
    session = Session(tmp_path)
    for cut in cuts:
        facts = session.gather(data[:cut])
    assert facts.offset == len(data)
    assert content(facts) == content(facts_of(long_session()))


@pytest.mark.parametrize("seed", range(4))
def test_a_cut_inside_a_line_changes_nothing_either(seed, tmp_path):
    data = long_session().bytes()
    choose = random.Random(seed)
    session = Session(tmp_path)
    for cut in [*sorted(choose.sample(range(len(data)), 8)), len(data)]:
        facts = session.gather(data[:cut])
    assert content(facts) == content(facts_of(long_session()))


def test_nothing_new_is_nothing_read(tmp_path, monkeypatch):
    session = Session(tmp_path)
    session.gather(long_session().bytes())
    monkeypatch.setattr(gathered, "_read", None)
    assert session.gather(long_session().bytes()).turns


def test_only_what_is_new_is_taken_in(tmp_path, monkeypatch):
    """What a step costs is what it adds."""
    taken = []
    whole = Facts.take
    monkeypatch.setattr(Facts, "take", lambda *given: (taken.append(1), whole(*given))[1])
    script = long_session()
    session = Session(tmp_path)
    session.gather(script.bytes())
    before = len(taken)
    script.prompt("one more thing")
    session.gather(script.bytes())
    assert len(taken) == before + 1


def test_a_rewind_drops_what_it_abandoned(tmp_path):
    script = Script()
    script.prompt("keep the port")
    parent = script.answer(text("It stays at 5433 for good."))
    script.prompt("and drop the migrations")
    script.answer(text("Dropped all the migrations, as you said."))
    session = Session(tmp_path)
    assert "migrations" in str(said(session.gather(script.bytes())))
    script.leaf = parent
    script.prompt("rather write the page")
    facts = session.gather(script.bytes())
    assert said(facts) == ["keep the port", "It stays at 5433 for good.", "rather write the page"]
    script.answer(text("The page is written and served."))
    assert said(session.gather(script.bytes()))[-1] == "The page is written and served."
    assert "migrations" not in (session.file).read_text()


def other_session():
    script = Script()
    script.prompt("something else altogether")
    script.answer(text("That is another session's matter."))
    return script


@pytest.mark.parametrize("how", ["shrunk", "rewritten", "replaced"])
def test_a_transcript_that_was_rewritten_is_gathered_anew(how, tmp_path):
    session = Session(tmp_path)
    whole = long_session()
    session.gather(whole.bytes())
    if how == "shrunk":
        new = Script()
        new.lines = whole.lines[:20]
    elif how == "replaced":
        new = other_session()
    else:
        new = Script()
        new.lines = [line.replace(b"rule", b"law ").replace(b"1a2b3c4", b"5d6e7f8") for line in whole.lines]
    facts = session.gather(new.bytes())
    assert content(facts) == content(facts_of(new))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data.replace(b"rule 3", b"rule 4", 1),
        lambda data: data.replace(b'{"v":%d' % VERSION, b'{"v":%d' % (VERSION + 1), 1),
        lambda data: b'{"somebody":"else\'s"}',
        lambda data: b"\0" * len(data),
        lambda data: b"x" * (9 << 20),
    ],
    ids=["cut", "empty", "flipped", "newer", "foreign", "zeros", "huge"],
)
def test_damaged_facts_are_set_aside_noted_and_made_again(damage, tmp_path):
    session = Session(tmp_path)
    expected = content(session.gather(long_session().bytes()))
    bad = damage(session.file.read_bytes())
    session.file.write_bytes(bad)
    assert content(session.gather(long_session().bytes())) == expected
    (aside,) = session.file.parent.glob("facts.json.damaged-*")
    assert aside.read_bytes() == bad
    (note,) = noted(tmp_path / "home" / "events.jsonl")
    assert note["event"] == "degraded.facts"
    assert note["aside"] == aside.name


def test_facts_that_are_a_folder_are_set_aside_too(tmp_path):
    session = Session(tmp_path)
    session.file.mkdir()
    assert session.gather(long_session().bytes()).units
    assert len(list(session.file.parent.glob("facts.json.damaged-*"))) == 1


def test_two_agents_and_their_session_never_mix(tmp_path):
    scripts = {}
    for agent in ("", "a1", "a2"):
        script = Script()
        whose = {"isSidechain": True, "agentId": agent} if agent else {}
        script.prompt(f"the secret word is word{agent or '0'}", **whose)
        scripts[agent] = script
    together = b"".join(script.bytes() for script in scripts.values())
    for agent in scripts:
        session = Session(tmp_path, agent)
        found = session.gather(together)
        assert said(found) == [f"the secret word is word{agent or '0'}"]
    assert len(list((tmp_path / "home").rglob("facts.json"))) == 3


def test_of_more_than_may_be_read_the_newest_is_taken_in_and_of_the_rest_what_was_typed_and_said(tmp_path):
    script = long_session()
    facts = Session(tmp_path).gather(script.bytes(), most=16_000)
    assert 0 < facts.start < facts.offset == len(script.bytes())
    assert (facts.skimmed, facts.unread) == (facts.start, 0)
    for number in (1, 39):
        assert f"rule {number}," in str(said(facts))
        assert f"option{number} because" in str(said(facts))
    assert "make gauge39" in facts.touched.commands
    assert "make gauge1" not in facts.touched.commands


def test_where_there_is_no_time_even_for_that_it_is_said(tmp_path, monkeypatch):
    """Of the front a little is looked at in any case."""
    monkeypatch.setattr(gathered, "_FOUND", -1)
    monkeypatch.setattr(speech, "_FRONT", 8_000)
    facts = Session(tmp_path).gather(long_session().bytes(), most=16_000)
    assert facts.skimmed + facts.unread == facts.start
    assert 0 < facts.skimmed <= 8_000
    assert "before anything" in str(said(facts))
    assert "rule 20," not in str(said(facts))


@pytest.mark.parametrize(("newest", "has_all"), [(1 << 18, True), (4000, False)])
def test_out_of_time_what_was_said_last_is_taken_in_all_the_same(newest, has_all, tmp_path, monkeypatch):
    monkeypatch.setattr(gathered, "_NEWEST", newest)
    facts = Session(tmp_path).gather(long_session().bytes(), seconds=-1)
    assert "rule 39" in str(said(facts))
    assert (content(facts) == content(facts_of(long_session()))) == has_all


@pytest.mark.parametrize("what", ["gone", "a folder", "no path"])
def test_without_a_transcript_there_are_the_facts_there_were(what, tmp_path):
    session = Session(tmp_path)
    facts = session.gather(long_session().bytes())
    session.state.seen.offset += 10
    path = {"gone": tmp_path / "gone", "a folder": tmp_path, "no path": ""}[what]
    after = gathered.bring_up(facts, session.state, str(path), Redactor(b"k").text, ALL, 1e9)
    assert content(after) == content(facts)


@pytest.mark.parametrize("seed", range(3))
def test_no_secret_stands_in_the_file(seed, tmp_path):
    planted = secrets(100 + seed, 2)
    script = Script()
    for number, one in enumerate(planted):
        script.prompt(f"mind this: {one.text}")
        script.answer(text(one.text), use(f"b{number}", "Bash", command=f"echo '{one.text}'"))
        script.result(f"b{number}", content=one.text)
    session = Session(tmp_path)
    session.gather(script.bytes())
    written = session.file.read_text()
    leaked = [
        one.family for one in planted if one.secret in written or json.dumps(one.secret)[1:-1] in written
    ]
    assert leaked == []


@pytest.mark.parametrize("change", ["nothing", "goes on", "rewound", "replaced"])
def test_what_was_read_from_the_front_is_used_only_while_the_transcript_is_the_same(change, tmp_path):
    """In the two that change nothing about it, it is: the control."""
    script = Script()
    script.prompt("keep the port")
    parent = script.answer(text("It stays at 5433 for good."))
    script.prompt("and drop the migrations")
    script.answer(text("Dropped all the migrations, as you said."))
    session = Session(tmp_path)
    session.path.write_bytes(script.bytes())
    transcripts.catch_up(session.state, str(session.path), ALL)
    place = late.Place(session.home, "s1")
    place.make()
    with session.path.open("rb") as file:
        size = session.state.seen.offset
        view = transcripts.read_on(Seen(), file.fileno(), size, size)
        place.save(view, gathered.read_on(Facts(), view, file.fileno(), str, ALL))
    if change == "replaced":
        script = other_session()
        for number in range(9):
            script.prompt(f"more of number {number}")
    elif change != "nothing":
        script.leaf = parent if change == "rewound" else script.leaf
        script.prompt("rather write the page")
    session.path.write_bytes(script.bytes())
    transcripts.catch_up(session.state, str(session.path), ALL)
    facts = gathered.furthest(session.home, session.state, Facts(), str(session.path))
    assert bool(facts.units) == (change in ("nothing", "goes on"))
