"""The board: nothing acknowledged is lost, a damaged line costs only itself, it does not grow for ever."""

import json
import os
import random
import signal
import subprocess
from pathlib import Path

import pytest

from holdfast.clock import new_id, now
from holdfast.disk import board, files, index, messages
from holdfast.disk.home import Home
from holdfast.disk.messages import ALL, DELIVERED, DONE, NOTE, REQUEST, TRIGGER, Reader
from holdfast.errors import BadInput

ME, OTHER = Reader("s1"), Reader("s2")


@pytest.fixture
def where(tmp_path: Path) -> board.Place:
    project = tmp_path / "project"
    project.mkdir()
    return board.place(str(project))


@pytest.fixture
def at_home(home: Path) -> Home:
    return Home(str(home))


def made(text: str = "hello", **said: str) -> dict:
    at = int(said.pop("at", 0)) or now()
    minutes = int(said.pop("minutes", 60))
    given = {"type": NOTE, "from": "session:s2", "to": "session:s1", "text": text, **said}
    return messages.made(new_id(at), at, minutes, lambda words: words, **given)


def posted(home: Home, where: board.Place, text: str = "hello", **said: str) -> str:
    message = made(text, **said)
    board.post(home, where, message)
    return message["id"]


def marked(home: Home, where: board.Place, uid: str, by: str = "session:s1", mark: str = DONE) -> None:
    board.mark(home, where.key, [messages.marked(uid, by, now(), mark)])


def waiting(home: Home, where: board.Place, reader: Reader = ME) -> list[str]:
    return [one["text"] for one in board.load(home, where.key).waiting(reader, now())]


@pytest.mark.parametrize(
    ("to", "reads"),
    [
        (ALL, ["s1", "a1", "a2"]),
        ("session:s1", ["s1"]),
        ("agent:a1", ["a1"]),
        ("role:Explore", ["a1"]),
        ("role:lead", ["s1"]),
        ("session:s2", []),  # what one said oneself
        ("role:nobody", []),
    ],
)
def test_a_message_reaches_those_it_is_for(to, reads, at_home, where):
    posted(at_home, where, to=to)
    readers = {"s1": ME, "s2": OTHER, "a1": Reader("s1", "a1", "Explore"), "a2": Reader("s1", "a2", "Plan")}
    assert [name for name, reader in readers.items() if waiting(at_home, where, reader)] == reads


def test_what_was_delivered_does_not_wait_and_what_was_done_is_over(at_home, where):
    note, request = posted(at_home, where, "a note"), posted(at_home, where, "a request", type=REQUEST)
    for uid in (note, request):
        marked(at_home, where, uid, mark=DELIVERED)
    assert waiting(at_home, where) == []
    assert [one["id"] for one in board.load(at_home, where.key).open(now())] == [request]
    marked(at_home, where, request)
    assert board.load(at_home, where.key).open(now()) == []


def test_what_everybody_is_told_is_over_for_nobody_else_when_one_has_it(at_home, where):
    uid = posted(at_home, where, to=ALL)
    marked(at_home, where, uid)
    assert waiting(at_home, where) == []
    assert waiting(at_home, where, Reader("s3")) == ["hello"]


def test_a_mark_by_one_it_is_not_for_ends_nothing_and_a_persons_does(at_home, where):
    uid = posted(at_home, where, type=REQUEST)
    marked(at_home, where, uid, by="session:s3")
    assert waiting(at_home, where) == ["hello"]
    marked(at_home, where, uid, by=messages.PERSON)
    assert waiting(at_home, where) == []


def test_an_expired_message_is_over_also_when_the_clock_jumps_but_not_when_it_is_set_back(at_home, where):
    posted(at_home, where, "old", at=str(now() - 7_200_000))
    posted(at_home, where, "of tomorrow", at=str(now() + 86_400_000))
    assert waiting(at_home, where) == ["of tomorrow"]
    found = board.load(at_home, where.key)
    assert found.waiting(ME, now() + 10 * 365 * 86_400_000) == []
    assert [one["text"] for one in found.waiting(ME, 1)] == ["old", "of tomorrow"]


def test_only_what_is_new_is_read_and_all_of_it_when_the_file_is_another(at_home, where):
    posted(at_home, where, "one")
    known = board.load(at_home, where.key).end
    posted(at_home, where, "two")
    assert [m["text"] for m in board.since(at_home, where.key, known).messages.values()] == ["two"]
    own = Path(board.path(at_home, where.key))
    own.write_bytes(own.read_bytes().replace(b'"one"', b'"uno"'))  # as long as before
    whole = board.since(at_home, where.key, known)
    assert [m["text"] for m in whole.messages.values()] == ["two"]
    assert len(whole.damaged) == 1


READERS = [ME, OTHER, Reader("s1", "a1", "Explore"), Reader("s3", "a2", "weird \u00e9 \ud800 role")]


def _filled(home: Home, where: board.Place, seed: int) -> None:
    """By many and for many, with marks behind and before what they are upon, torn and damaged lines."""
    dice = random.Random(seed)
    names = [ALL, "session:s1", "session:s2", "agent:a1", "role:Explore", "role:lead", "session:else"]
    own, ids = Path(board.path(home, where.key)), []
    for number in range(60):
        if dice.random() < 0.5 or not ids:
            text = dice.choice(('"to":"session:s1"', "hello")) + f" {number}"
            said = {"to": dice.choice(names), "from": dice.choice(names[1:5]), "text": text}
            given = {"type": dice.choice((NOTE, REQUEST, TRIGGER)), **said}
            message = messages.made(new_id(now()), now(), 60, lambda words: words, **given)
            ids.append(message["id"])
            if dice.random() < 0.2:
                marked(home, where, message["id"], dice.choice(names), dice.choice((DELIVERED, DONE)))
            board.post(home, where, message)
        else:
            marked(home, where, dice.choice(ids), dice.choice(names), dice.choice((DELIVERED, DONE)))
        if dice.random() < 0.1:
            with own.open("ab") as file:
                file.write(dice.choice((b'{"v":1,"sum":12,"id":"', b"\0garbage\n", b"\n")))


def _seen(found: board.Board, reader: Reader) -> list[object]:
    waiting = found.waiting(reader, now())
    return [found.end, *((one, found.of(one["id"]), found.starts[one["id"]]) for one in waiting)]


@pytest.mark.parametrize("seed", range(8))
def test_what_waits_for_one_is_the_same_where_only_that_is_read(seed, at_home, where):
    posted(at_home, where)
    _filled(at_home, where, seed)
    half = board.load(at_home, where.key).end
    _filled(at_home, where, seed + 100)
    found = 0
    for reader in READERS:
        for place in ([], half):
            whole = board.since(at_home, where.key, place)
            few = board.since(at_home, where.key, place, reader)
            assert _seen(few, reader) == _seen(whole, reader)
            assert len(few.messages) < len(whole.messages)
            found += len(few.messages)
    assert found


def test_a_damaged_line_costs_only_itself(at_home, where):
    for word in ("one", "two", "three"):
        posted(at_home, where, word)
    own = Path(board.path(at_home, where.key))
    lines = own.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b"two", b"2wo")
    own.write_bytes(b"\n".join([*lines[:3], b"\0garbage\xff", *lines[3:-1], lines[3][:40]]))
    found = board.load(at_home, where.key)
    assert (waiting(at_home, where), len(found.damaged)) == (["one", "three"], 2)
    posted(at_home, where, "four")  # behind a torn tail
    assert waiting(at_home, where) == ["one", "three", "four"]
    assert board.load(at_home, where.key).torn == 1


def test_every_cut_of_the_file_keeps_what_stands_whole_before_it(at_home, where):
    """A power cut or a kill at any byte."""
    for word in ("one", "two", "three"):
        posted(at_home, where, word)
    own = Path(board.path(at_home, where.key))
    whole = own.read_bytes()
    for size in range(0, len(whole), 7):
        own.write_bytes(whole[:size])
        ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
        texts = ["one", "two", "three"][: max(0, sum(end <= size for end in ends) - 1)]
        assert waiting(at_home, where) == texts
        assert not board.load(at_home, where.key).damaged


@pytest.mark.parametrize(
    "wrong", [{"id": "X"}, {"to": "everyone"}, {"type": "a b"}, {"expires": "soon"}, {"after": "x"}]
)
def test_a_line_that_is_no_message_is_damaged_and_nobodys(wrong, at_home, where):
    uid = posted(at_home, where)
    message = board.load(at_home, where.key).messages[uid]
    files.append_durably(board.path(at_home, where.key), index.line({**message, "id": new_id(1), **wrong}))
    files.append_durably(board.path(at_home, where.key), index.line({"of": uid, "mark": DONE}))
    found = board.load(at_home, where.key)
    assert (list(found.messages), len(found.damaged), found.of(uid)) == ([uid], 2, [])


def test_what_is_over_is_left_out_when_the_file_has_grown_and_nothing_else(at_home, where, monkeypatch):
    monkeypatch.setattr(board, "_TIDY", 4_000)
    monkeypatch.setattr(board, "_STEP", 500)
    kept = [posted(at_home, where, f"request {n}", type=REQUEST) for n in range(3)]
    marked(at_home, where, kept[0], mark=DELIVERED)
    own = Path(board.path(at_home, where.key))
    with own.open("ab") as file:
        file.write(b"damaged on the way\n")
    for number in range(40):
        marked(at_home, where, posted(at_home, where, f"note {number}"), mark=DELIVERED)
    known = board.load(at_home, where.key).end
    assert own.stat().st_size < 12_000
    assert waiting(at_home, where) == ["request 1", "request 2"]  # what was delivered stays so
    assert [one["id"] for one in board.load(at_home, where.key).open(now())] == kept
    aside = [path for path in own.parent.iterdir() if ".damaged-" in path.name]
    assert b"damaged on the way" in b"".join(path.read_bytes() for path in aside)
    own.write_bytes(own.read_bytes()[:200])
    assert board.since(at_home, where.key, known).end[0] <= 200


def test_a_board_on_which_too_much_waits_takes_no_more_and_says_what_to_do(at_home, where, monkeypatch):
    monkeypatch.setattr(board, "_MOST", 4_000)

    def flood() -> None:
        for number in range(40):
            posted(at_home, where, f"request {number}", type=REQUEST)

    with pytest.raises(BadInput, match=r"is full: .* messages wait .* board ack"):
        flood()
    assert len(waiting(at_home, where)) > 5


def test_of_others_a_board_takes_so_much_and_there_is_room_for_ones_own(at_home, where, monkeypatch):
    monkeypatch.setattr(board, "_MOST_OF_OTHERS", 4_000)

    def came(*numbers: int) -> int:
        said = [{**made(f"theirs {number}"), "machine": "m.x"} for number in numbers]
        return board.take_in(at_home, where, said, board.load(at_home, where.key))

    some = came(*range(40))
    assert 5 < some < 20
    assert came(40, 41) == 0
    posted(at_home, where, "ours")
    assert waiting(at_home, where) == [*(f"theirs {number}" for number in range(some)), "ours"]


def test_one_in_the_way_is_set_aside(at_home, where):
    own = Path(board.path(at_home, where.key))
    own.mkdir(parents=True)
    posted(at_home, where)
    assert waiting(at_home, where) == ["hello"]
    assert [path.name.partition(".damaged-")[1] for path in own.parent.iterdir() if path.is_dir()] == [
        ".damaged-"
    ]


def test_working_trees_of_one_repository_share_a_board_and_other_folders_do_not(tmp_path):
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path / "repo"), *words], check=True, capture_output=True)

    (tmp_path / "repo" / "src").mkdir(parents=True)
    (tmp_path / "bare").mkdir()
    git("init", "-q")
    git("-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty", "-m", "one")
    git("worktree", "add", "-q", str(tmp_path / "other"))
    first, second = board.place(str(tmp_path / "repo" / "src")), board.place(str(tmp_path / "other"))
    assert (first.key, first.root) == (second.key, second.root)
    assert first.root == str(tmp_path / "repo")
    assert board.place(str(tmp_path / "bare")).key not in ("", first.key)


# The rendering


def rendering(where: board.Place) -> dict:
    return json.loads((Path(where.root) / ".coordination" / "blackboard.json").read_text())


def test_the_rendering_has_the_shape_that_scripts_know_and_is_never_read_back(at_home, where):
    uid = posted(at_home, where, "", type=TRIGGER, reason="context_60_percent", status="context_high")
    marked(at_home, where, uid)
    shown = Path(board.show(at_home, where))
    (message,) = [one for one in rendering(where)["messages"] if one["type"] == "checkpoint_trigger"]
    assert (message["reason"], message["STATUS"]) == ("context_60_percent", "context_high")
    assert message["timestamp"].endswith("Z")
    assert message["acknowledged"][0]["by"] == "session:s1"
    assert (shown.parent / ".gitignore").read_text() == "*\n"
    shown.write_text(shown.read_text().replace("context_60_percent", "rm -rf"))
    assert board.load(at_home, where.key).messages[uid]["reason"] == "context_60_percent"
    board.show(at_home, where)
    assert rendering(where)["messages"][0]["reason"] == "context_60_percent"


@pytest.mark.parametrize("what", ["folder", "file", "theirs"])
def test_the_rendering_goes_through_no_link_and_over_nobodys_file(what, at_home, where, tmp_path):
    posted(at_home, where)
    away, folder = tmp_path / "away", Path(where.root) / ".coordination"
    away.mkdir()
    (away / "blackboard.json").write_text("mine")
    if what == "folder":
        folder.symlink_to(away)
    else:
        folder.mkdir()
        own = folder / "blackboard.json"
        own.symlink_to(away / "blackboard.json") if what == "file" else own.write_text("theirs")
    with pytest.raises((OSError, BadInput)):
        board.show(at_home, where)
    assert [(path.name, path.read_text()) for path in away.iterdir()] == [("blackboard.json", "mine")]
    assert waiting(at_home, where) == ["hello"]


# Kills


def test_who_is_killed_while_posting_loses_nothing_that_was_acknowledged(at_home, where):
    told, wrote = os.pipe()
    child = os.fork()
    if not child:
        number = 0
        while True:
            posted(at_home, where, f"{number:06}")
            os.write(wrote, b"%06d" % number)
            number += 1
    while len(os.read(told, 6)) and Path(board.path(at_home, where.key)).stat().st_size < 30_000:
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(wrote)
    rest = b"".join(iter(lambda: os.read(told, 4096), b""))
    acknowledged = int(rest[-6:] or 0)
    found = waiting(at_home, where)
    assert found == [f"{number:06}" for number in range(len(found))]
    assert len(found) > acknowledged
