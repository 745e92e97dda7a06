"""What one machine does, and another sees; and what it does not."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import select, text

from holdfast.clock import at, new_id, now
from holdfast.disk import board, messages
from holdfast.errors import BadInput
from holdfast.ops import desk
from holdfast.ops.shared import Desk
from holdfast.store import catalogue, happened, posted, projects
from holdfast.store.named import Projects
from holdfast.store.postgres import PostgreSQL
from holdfast.store.tables import CHECKPOINTS, EVENTS
from holdfast.team import outgoing
from holdfast.team.outgoing import Outgoing
from store.postgres import Server
from teammate import PROJECT, Machine, until

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def begun(*machines: Machine) -> None:
    for machine in machines:
        machine.round()
        machine.begin()


def events(store: PostgreSQL) -> list[tuple[str, str]]:
    with store.reading() as connection:
        return [tuple(row) for row in connection.execute(select(EVENTS.c.event, EVENTS.c.project))]


def test_a_checkpoint_and_what_happened_reach_the_store_once(ann: Machine, postgresql: PostgreSQL) -> None:
    ann.sync()
    ann.begin()
    taken = ann.take()
    first, second = ann.sync(), ann.sync()
    assert first["sent"] >= 2
    assert (first["trouble"], first["waiting"], second["sent"]) == ("", 0, 0)
    with postgresql.reading() as connection:
        row = connection.execute(select(CHECKPOINTS)).one()
    assert (row.uid, row.project, row.who) == (taken["uid"], PROJECT, "team")
    assert row.body == Path(taken["path"]).read_text()
    assert row.machine.startswith("ann.")
    assert ("checkpoint.taken", PROJECT) in events(postgresql)


def test_another_machine_lists_and_shows_it_and_sees_what_happened(ann: Machine, ben: Machine) -> None:
    begun(ann, ben)
    taken = ann.take()
    ann.round()
    listed = ben.say("checkpoint", "list", "--team", "--project", str(ben.project))
    assert [(one["uid"], one["who"], one["state"]) for one in listed] == [(taken["uid"], "team", "ok")]
    shown = ben.say("checkpoint", "show", taken["uid"], "--team")
    assert shown["text"] == Path(taken["path"]).read_text()
    assert shown["trust"] == "foreign"
    assert ben.say("checkpoint", "list") == []
    noted = ben.say("events", "--team", "--kind", "checkpoint.")["events"]
    assert [one["machine"].partition(".")[0] for one in noted] == ["ann"]
    assert ben.tried("checkpoint", "show", "01" * 13, "--team").returncode == 3


def test_a_checkpoint_that_is_pruned_at_home_is_gone_for_the_team(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    from holdfast.disk import index

    begun(ann)
    taken = ann.take()
    ann.round()
    index.drop(ann.app.home, [taken["uid"]], lambda: Path(taken["path"]).unlink())
    ann.round()
    assert ann.say("checkpoint", "list", "--team") == []
    with postgresql.reading() as connection:
        assert connection.execute(select(CHECKPOINTS.c.body)).one().body == ""


def test_what_one_says_on_the_board_the_other_is_told_and_what_it_did_comes_back(
    ann: Machine, ben: Machine
) -> None:
    begun(ann, ben)
    said = ann.say("board", "post", "the gate is open", "--type", "request", "--to", "role:lead")
    ann.round()
    assert (ben.round().received, ben.round().received) == (1, 0)
    assert "the gate is open" in ben.hook("UserPromptSubmit")
    assert ben.hook("UserPromptSubmit") == ""
    ben.say("board", "ack", said["id"], "shut again", "--session", "s1")
    ben.round()
    ann.round()
    (message,) = ann.say("board", "list", "--every")
    assert message["state"] == "done"
    assert "shut again" in message["done"][0]


def test_who_has_spoken_from_another_machine_can_be_answered(ann: Machine, ben: Machine) -> None:
    ann.round()
    ben.round()
    ann.begin("s-ann")
    ben.begin("s-ben")
    assert ben.tried("board", "post", "hello", "--to", "session:s-ann").returncode == 3
    post(ann, "s-ann", "is the gate open?")
    ann.round()
    ben.round()
    ben.say("board", "post", "it is", "--to", "session:s-ann")
    ben.round()
    ann.round()
    assert "it is" in ann.hook("UserPromptSubmit", "s-ann")


def post(machine: Machine, session: str, words: str) -> None:
    """As that session: the client says so to the commands it runs."""
    moment = now()
    said = messages.made(
        new_id(moment),
        moment,
        60,
        str,
        **{"type": "note", "from": f"session:{session}", "to": "all", "text": words},
    )
    board.post(machine.app.home, board.place(str(machine.project)), said)


def test_rows_that_are_none_of_ours_are_passed_over_and_no_name_reaches_the_terminal_raw(
    ann: Machine, ben: Machine, postgresql: PostgreSQL
) -> None:
    """A member of the project can write to the store whatever fits its columns."""
    begun(ann, ben)
    taken = ann.take()
    said = ann.say("board", "post", "who dredges?", "--type", "request", "--to", "role:lead")
    ann.round()
    ben.round()
    with postgresql.writing() as connection:
        row = connection.execute(select(CHECKPOINTS)).one()
        whole = json.loads(row.entry)
        evil = "\x1b[2Jevil" * 40
        for uid, entry in {
            "c1": '{"uid":"c1"}',
            "c2": "[" * 100_000,
            "c3": json.dumps({**whole, "uid": "c3", "state": "ok", "machine": "x", "pinned": 7}),
        }.items():
            known = catalogue.Entry(uid, PROJECT, evil, "", "", "", 1, entry, "")
            catalogue.add(connection, [known])
        note = json.dumps({"event": "test.noted", "session": "s1"})
        happened.add(connection, [happened.Happened("e1", PROJECT, evil, "s1", 1, "test.noted", note)])
        done = messages.marked(said["id"], "session:s9", now(), "done", "it is")
        posted.mark(
            connection,
            [
                posted.Mark(said["id"], "one", "done", PROJECT, evil, json.dumps(done)),
                posted.Mark(
                    said["id"],
                    "session:s9",
                    "done",
                    PROJECT,
                    evil,
                    json.dumps({**done, "x": "x" * 1_200_000}),
                ),
                posted.Mark(said["id"], "two", "done", PROJECT, evil, "[" * 60_000),
            ],
        )
    listed = ben.say("checkpoint", "list", "--team")
    assert [one["uid"] for one in listed] == [taken["uid"], "c3"]
    assert "\x1b" not in listed[1]["machine"]
    assert len(listed[1]["machine"]) < 100
    (noted,) = ben.say("events", "--team", "--kind", "test.noted")["events"]
    assert "\x1b" not in noted["machine"]
    assert ben.round().received == 0
    (open_,) = ben.say("board", "list")
    assert (open_["id"], open_["state"]) == (said["id"], "open")


def said_by_others(store: PostgreSQL, number: int) -> list[str]:
    """So many messages, each with a mark; what they say."""
    texts = [f"gate {one} is open" for one in range(number)]
    for words in texts:
        made = messages.made(
            new_id(now()),
            now(),
            60,
            str,
            **{"type": "note", "from": "session:s9", "to": "all", "text": words},
        )
        mark = messages.marked(made["id"], "session:s8", now(), "delivered")
        with store.writing() as connection:
            posted.post(
                connection, [posted.Message(made["id"], PROJECT, "m.x", json.dumps(made), 3_600_000)]
            )
            known = made["id"], "session:s8", "delivered", PROJECT, "m.x", json.dumps(mark)
            posted.mark(connection, [posted.Mark(*known)])
        time.sleep(0.002)  # clocks tell milliseconds: of those of one moment nobody knows the order
    return texts


def test_of_what_others_say_a_board_takes_so_much_and_the_rest_waits(
    ann: Machine, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(ann)
    texts = said_by_others(postgresql, 30)
    with monkeypatch.context() as little:
        little.setattr(board, "_MOST_OF_OTHERS", 6000)
        ann.round()
        done = ann.round()
        assert (done.received, "has no room for more" in done.trouble) == (0, True)
    listed = [one["text"] for one in ann.say("board", "list")]
    assert 0 < len(listed) < 30
    assert listed == texts[: len(listed)]
    done = ann.round()
    assert done.trouble == ""
    shown = ann.say("board", "list")
    assert [one["text"] for one in shown] == texts
    assert {len(one["delivered"]) for one in shown} == {1}


def test_a_message_in_whatever_order_it_was_written_is_told_once(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    ann.begin()
    ann.round()
    made = messages.made(new_id(now()), now(), 60, str, type="note", to="all", text="the gate is open")
    said = json.dumps(dict(reversed(made.items())))
    with postgresql.writing() as connection:
        posted.post(connection, [posted.Message(made["id"], PROJECT, "m.x", said, 3_600_000)])
    ann.round()
    read = [ann.say("board", "read", "--session", "s1") for _ in range(2)]
    assert [one["ids"] for one in read] == [[made["id"]], []]


def test_what_others_said_comes_in_parts_however_much_it_is(
    ann: Machine, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posted, "MOST", 8)
    begun(ann)
    texts = said_by_others(postgresql, 30)
    received = [ann.round().received for _ in range(6)]
    assert max(received) <= 16
    assert (sum(received), received[-1]) == (60, 0)
    shown = ann.say("board", "list")
    assert [one["text"] for one in shown] == texts
    assert {len(one["delivered"]) for one in shown} == {1}


def test_the_service_takes_no_more_than_so_much_for_a_board(
    postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk, "_MOST_STANDING", 3000)
    ann = Desk("ann", postgresql, str)
    desk.board_post(ann, "x" * 2000, PROJECT)
    desk.board_post(ann, "x" * 2000, PROJECT)
    with pytest.raises(BadInput, match="too much stands on the board"):
        desk.board_post(ann, "hello", PROJECT)
    desk.board_post(ann, "hello", "git.example.org/harbour/other")


@pytest.mark.parametrize(
    "said",
    [
        {"expires": "9999-12-31T00:00:00.000Z"},
        {
            "at": "1970-01-01T00:00:00.000Z",
            "expires": "1970-01-01T01:00:00.000Z",
            "after": "9999-12-31T00:00:00.000Z",
        },
    ],
)
def test_a_message_whose_times_cannot_be_told_here_is_passed_over(
    ann: Machine, postgresql: PostgreSQL, said: dict[str, str]
) -> None:
    begun(ann)
    whole = {"type": "note", "to": "all", "text": "hello", "from": "session:s9"}
    made = messages.made(new_id(now()), now(), 60, str, **whole)
    with postgresql.writing() as connection:
        row = posted.Message(made["id"], PROJECT, "m.x", json.dumps({**made, **said}), 3_600_000)
        posted.post(connection, [row])
    assert ann.round().received == 0
    assert ann.say("board", "list") == []


@pytest.mark.parametrize(
    "words",
    [
        ["events", "--session", "a\udcff"],
        ["events", "--kind", "a\udcff"],
        ["events", "--limit", str(10**20)],
        ["checkpoint", "show", "a\udcff"],
        ["checkpoint", "list", "--limit", str(10**20)],
    ],
)
def test_what_no_store_can_be_asked_is_refused(ann: Machine, words: list[str]) -> None:
    done = ann.tried(*words, "--team")
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr


def test_what_is_for_a_session_of_this_machine_stays_here(ann: Machine, ben: Machine) -> None:
    begun(ann, ben)
    ann.say("board", "post", "only for you", "--to", "session:s1")
    ann.round()
    assert ben.round().received == 0


def test_a_message_lasts_as_long_as_it_was_meant_to_whatever_the_clocks_say(
    tmp_path: Path, ann: Machine, server: Server, postgresql: PostgreSQL
) -> None:
    """ann's clock is a day behind: by its own times its message would have been over before it came."""
    ann.ahead_s = -86_400
    ben = Machine(tmp_path / "ben", server.url, ahead_s=7200)
    ben.begin()
    ann.sync()
    ben.sync()
    said = ann.say("board", "post", "the gate is open", "--minutes", "60")
    assert at(said["expires"]) < now()
    ann.sync()
    assert ben.sync()["received"] == 1
    (message,) = ben.say("board", "list")
    assert message["state"] == "open"
    left_min = (at(message["expires"]) - now() - 7_200_000) / 60_000
    assert 50 < left_min <= 60
    ben.say("board", "ack", said["id"])
    ben.sync()
    ann.sync()
    (message,) = ann.say("board", "list", "--every")
    assert message["done"] == ["person"]


def test_what_waited_longer_than_it_lasts_is_kept_but_told_to_nobody(
    ann: Machine, ben: Machine, postgresql: PostgreSQL
) -> None:
    from holdfast.disk import board, messages, outbox

    begun(ann, ben)
    past = now() - 2 * 3_600_000
    said = messages.made("01" * 13, past, 60, str, type="note", to="all", text="the gate was open")
    root = str(ann.project)
    outbox.put(ann.app.home, outbox.MESSAGE, {"root": root, "said": {**said, "from": "person"}}, said["id"])
    ann.round()
    with postgresql.reading() as connection:
        assert connection.execute(text("SELECT uid, lasts_ms FROM messages")).all() == [("01" * 13, 0)]
    assert ben.round().received == 0
    assert board.keys(ben.app.home) == []


def test_a_project_that_is_not_named_and_one_without_an_origin_stay_at_home(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    local = ann.cloned("local", "")
    private = ann.cloned("private", "git@github.com:ann/diary.git")
    (ann.home / "config.yaml").write_text("team:\n  projects: git.example.org/harbour/*\n")
    for session, place in (("s2", local), ("s3", private)):
        ann.begin(session, place)
        ann.take(session)
        ann.say("board", "post", "for us alone", at=place)
    ann.take()
    assert ann.round().waiting == 0
    with postgresql.reading() as connection:
        for table in ("checkpoints", "events", "messages"):
            found = set(connection.scalars(text(f"SELECT project FROM {table}")))
            assert found <= {PROJECT}, table
        assert connection.execute(select(CHECKPOINTS)).one().session == "s1"


def test_a_project_that_gets_an_origin_travels_from_then_on_with_what_it_had_before(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    place = ann.cloned("late", "")
    ann.begin("s2", place)
    before = ann.take("s2")
    ann.say("board", "post", "the gate was open", at=place)
    ann.round()
    subprocess.run(
        ["git", "remote", "add", "origin", "https://git.example.org/late"], cwd=place, check=True
    )
    after = ann.take("s2")
    ann.round()
    with postgresql.reading() as connection:
        found = connection.execute(select(CHECKPOINTS.c.uid, CHECKPOINTS.c.project)).all()
        assert list(connection.scalars(text("SELECT project FROM messages"))) == ["git.example.org/late"]
    assert {tuple(row) for row in found} == {
        (one["uid"], "git.example.org/late") for one in (before, after)
    }


def test_a_project_is_known_by_the_origin_it_has_now_and_keeps_it_where_there_is_no_git(
    ann: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann.round()

    def name() -> str:
        known = Projects(ann.app)
        found = known.name(str(ann.project))
        known.keep()
        return found

    assert name() == PROJECT
    words = ["git", "remote", "set-url", "origin", "https://git.example.org/harbour/moved"]
    subprocess.run(words, cwd=ann.project, check=True)
    assert name() == "git.example.org/harbour/moved"
    projects._origin.cache_clear()
    monkeypatch.setenv("PATH", "")
    assert name() == "git.example.org/harbour/moved"


def test_a_folder_without_an_origin_travels_where_it_was_named(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    local = ann.cloned("local", "")
    (ann.home).mkdir()
    (ann.home / "config.yaml").write_text(f"team:\n  projects: {local}\n")
    begun(ann)
    ann.begin("s2", local)
    ann.take("s2")
    ann.round()
    with postgresql.reading() as connection:
        assert list(connection.scalars(select(CHECKPOINTS.c.project))) == [str(local)]


def test_no_secret_leaves_the_machine(ann: Machine, postgresql: PostgreSQL) -> None:
    from holdfast.disk import trail

    begun(ann)
    transcript = ann.transcript()
    transcript.prompt(f"deploy with GITHUB_TOKEN={SECRET}")
    transcript.answer(60_000, f"I use {SECRET} then")
    ann.take()
    ann.say("board", "post", f"the key is {SECRET}")
    trail.note(ann.app.home, "degraded.test", session="s1", what=f"cannot log in with {SECRET}")
    assert ann.round().waiting == 0
    with postgresql.reading() as connection:
        for table in ("checkpoints", "events", "messages"):
            said = str(connection.execute(text(f"SELECT * FROM {table}")).all())
            assert len(said) > 100
            assert SECRET not in said, table


def test_a_checkpoint_that_somebody_changed_travels_without_what_it_says(
    ann: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann)
    taken = ann.take()
    path = Path(taken["path"])
    path.write_text(path.read_text() + f"{SECRET}\n")
    ann.round()
    with postgresql.reading() as connection:
        assert connection.execute(select(CHECKPOINTS.c.body)).one().body == ""


def test_where_bodies_stay_at_home_the_catalogue_travels(ann: Machine, ben: Machine) -> None:
    (ann.home).mkdir()
    (ann.home / "config.yaml").write_text("team:\n  bodies: false\n")
    begun(ann, ben)
    taken = ann.take()
    ann.round()
    (listed,) = ben.say("checkpoint", "list", "--team")
    assert (listed["uid"], listed["state"]) == (taken["uid"], "listed")
    done = ben.tried("checkpoint", "show", taken["uid"], "--team")
    assert done.returncode == 3
    assert f"stayed on its machine: {listed['machine']}" in done.stderr


def test_joining_tells_what_was_there_before_and_leaving_ends_it(
    tmp_path: Path, server: Server, postgresql: PostgreSQL
) -> None:
    ann = Machine(tmp_path / "ann")
    ann.begin()
    taken = ann.take()
    assert not (ann.home / "outbox").exists()
    assert ann.tried("team", "join").returncode == 2
    assert ann.say("team", "join", server.url)["sent"] == 1
    assert [one["uid"] for one in ann.say("checkpoint", "list", "--team")] == [taken["uid"]]
    ann.note(1)
    assert ann.say("team", "leave") == {"lost": 0}
    assert not (ann.home / "outbox").exists()
    assert ("test.noted", PROJECT) in events(postgresql)
    ann.note(2)
    assert not (ann.home / "outbox").exists()
    assert ann.tried("sync").returncode == 2


def test_who_has_left_is_not_brought_back_by_what_still_runs(
    tmp_path: Path, server: Server, postgresql: PostgreSQL
) -> None:
    from holdfast.team.sync import Drain

    ann = Machine(tmp_path / "ann")
    ann.say("team", "join", server.url)
    ann.begin()
    before = ann.app
    ways = (("watch", "--interval", "1"), ("sync", "--watch"), ("serve", "--port", "0"))
    running = [ann.started(*words, stdout=subprocess.DEVNULL) for words in ways]
    try:
        ann.note(1)
        until(lambda: ("test.noted", PROJECT) in events(postgresql))
        until(lambda: (ann.home / "watch.lock").exists() and (ann.home / "serve.json").exists())
        ann.say("team", "leave")
        time.sleep(7)  # longer than between two rounds where nothing waits
        assert not (ann.home / "outbox").exists()
        Drain().look(before)  # with the settings it was started with
        assert not (ann.home / "outbox").exists()
        ann.say("team", "join", server.url)
        ann.note(2)
        until(lambda: len([one for one in events(postgresql) if one[0] == "test.noted"]) == 2)
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            process.wait(60)


def test_who_leaves_while_something_waits_is_told_so(
    tmp_path: Path, engine: Server, postgresql: PostgreSQL
) -> None:
    ann = Machine(tmp_path / "ann")
    ann.say("team", "join", engine.url)
    ann.begin()
    ann.take()
    engine.kill()
    done = ann.tried("team", "leave")
    assert done.returncode == 5
    assert "--force" in done.stderr
    assert ann.say("team", "leave", "--force")["lost"] >= 1
    engine.start()


def test_the_service_and_the_watcher_send_what_waits_and_take_in_what_comes(
    ann: Machine, ben: Machine, postgresql: PostgreSQL
) -> None:
    begun(ann, ben)
    service = ann.started("serve", "--port", "0", stdout=subprocess.PIPE)
    watcher = ben.started("watch", "--interval", "1", stdout=subprocess.DEVNULL)
    try:
        ann.say("board", "post", "the gate is open")
        until(lambda: ben.say("board", "list"))
        ben.say("board", "post", "I saw it")
        until(lambda: len(ann.say("board", "list")) == 2)
    finally:
        service.send_signal(signal.SIGTERM)
        watcher.send_signal(signal.SIGINT)
        service.communicate(timeout=60)
        watcher.wait(60)


def test_who_only_sends_what_waits_does_not_load_memory(ann: Machine, postgresql: PostgreSQL) -> None:
    begun(ann)
    ann.note(1)
    code = (
        "import sys; from holdfast.app import Holdfast; from holdfast.team import sync; "
        "made = sync.round(Holdfast.open(), only_send=True); "
        "print(made.trouble, made.waiting, *(name for name in sys.modules if 'holdfast.memory' in name))"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, env=ann.env, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == " 0\n"


def test_who_joins_another_store_is_told_what_stands_there(
    tmp_path: Path, server: Server, postgresql: PostgreSQL
) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS second WITH (FORCE)")
        connection.execute("CREATE DATABASE second")
    second = server.url.replace("/postgres?", "/second?")
    try:
        there = PostgreSQL(second)
        there.bring_up()
        there.close()
        ben = Machine(tmp_path / "ben", second)
        begun(ben)
        ben.say("board", "post", "it stands there since long ago")
        ben.round()
        there = PostgreSQL(second)
        with there.writing() as connection:
            connection.execute(text("UPDATE messages SET received = received - 600000"))
        there.close()
        ann = Machine(tmp_path / "ann", server.url)
        begun(ann)
        ann.round()
        ann.url = second
        assert ann.round().received == 1
        (ann.home / "board").rename(ann.home / "board.lost")
        (ann.home / "outbox" / "pulled.json").write_text(
            (ann.home / "outbox" / "pulled.json").read_text().partition(',"seen"')[0] + ',"seen":{}}'
        )
        assert ann.round().received == 0
        assert ann.round(everything=True).received == 1
    finally:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("DROP DATABASE second WITH (FORCE)")


def test_who_joins_against_the_environment_changes_nothing(ann: Machine) -> None:
    done = ann.tried("team", "join", "postgresql://ann@localhost/other")
    assert done.returncode == 2
    assert "HOLDFAST_STORE_URL" in done.stderr
    assert "store" not in (
        (ann.home / "config.yaml").read_text() if (ann.home / "config.yaml").exists() else ""
    )


def test_erasures_that_the_team_has_not_heard_of_keep_one_from_leaving(
    tmp_path: Path, engine: Server, postgresql: PostgreSQL
) -> None:
    from holdfast.memory import own

    ann = Machine(tmp_path / "ann")
    ann.say("team", "join", engine.url)
    ann.round()
    engine.kill()
    for number in range(9):  # that the store is away is noted, too, and waits
        own.owe(ann.app, PROJECT, [f"shape {number}"])
    done = ann.tried("team", "leave")
    assert done.returncode == 5, done.stdout
    assert ann.say("team", "leave", "--force")["lost"] >= 9
    engine.start()


def test_a_home_that_was_copied_is_another_machine(tmp_path: Path) -> None:
    from holdfast.store import machine

    ann = Machine(tmp_path / "ann")
    first = machine.this(ann.app)
    assert machine.this(ann.app) == first
    ben = Machine(tmp_path / "ben")
    shutil.copytree(ann.home, ben.home)
    other = machine.this(ben.app)
    assert other.rpartition(".")[2] != first.rpartition(".")[2]
    assert (machine.this(ben.app), machine.this(ann.app)) == (other, first)
    path = ann.home / "machine.json"
    path.write_text(path.read_text().replace('"host":"', '"host":"x'))
    assert machine.this(ann.app) != first


def test_a_home_that_was_moved_or_is_of_before_is_the_same_machine(tmp_path: Path) -> None:
    from holdfast.store import machine

    ann = Machine(tmp_path / "ann")
    first = machine.this(ann.app)
    path = ann.home / "machine.json"
    said = json.loads(path.read_text())
    path.write_text(json.dumps({name: said[name] for name in ("v", "id", "host")}))
    assert machine.this(ann.app) == first
    moved = ann.home.rename(tmp_path / "moved")
    ann.home.symlink_to(moved)
    assert machine.this(ann.app) == first
    ann.home.unlink()
    ann.home = moved.rename(tmp_path / "again")
    assert machine.this(ann.app) == first


def test_two_homes_of_which_one_was_copied_keep_their_checkpoints(ann: Machine, ben: Machine) -> None:
    begun(ann)
    shutil.copytree(ann.home, ben.home)
    first = ann.take()
    ann.round(everything=True)
    ben.begin("s2")
    second = ben.take("s2")
    ben.round(everything=True)
    ann.round(everything=True)
    listed = {
        one["uid"]: one["machine"].partition(".")[0] for one in ann.say("checkpoint", "list", "--team")
    }
    assert listed == {first["uid"]: "ann", second["uid"]: "ben"}


def test_what_is_of_a_project_that_is_closed_to_a_member_is_tried_once_and_kept_so_far(
    tmp_path: Path, server: Server, postgresql: PostgreSQL, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS pat")
        connection.execute("CREATE ROLE pat LOGIN")
        connection.execute("INSERT INTO members (who, project) VALUES ('pat', %s)", [PROJECT])
    pat = Machine(tmp_path / "pat", server.url.replace("team@", "pat@"))
    begun(pat)
    pat.begin("s2", pat.cloned("other", "git@git.example.org:harbour/other.git"))
    pat.round()
    tried, write = [], Outgoing._write

    def counted(self: Outgoing, connection: Any, lines: Any, compared: bool) -> int:
        tried.append(len(lines))
        return write(self, connection, lines, compared)

    monkeypatch.setattr(Outgoing, "_write", counted)
    for number in range(400):
        pat.note(number, "s2" if number % 2 else "s1")
    assert pat.round().trouble == ""
    assert len(tried) < 20
    path = pat.home / "outbox" / "refused.jsonl"
    before = path.read_bytes()
    assert before.count(b"test.noted") == 200
    assert events(postgresql).count(("test.noted", PROJECT)) == 200
    monkeypatch.setattr(outgoing, "_MOST_REFUSED", 1000)
    for number in range(7):
        pat.note(number, "s2")
    hidden = pat.take("s2")
    assert pat.round().trouble == ""
    added = path.read_bytes().removeprefix(before)
    assert b"test.noted" not in added
    assert hidden["uid"].encode() in added
    assert "events were let go" in pat.tried("status").stdout


def test_a_member_sends_and_sees_its_own_projects_and_what_is_refused_waits_for_it(
    tmp_path: Path, server: Server, postgresql: PostgreSQL
) -> None:
    """As roles of the server, which limits them; the owner of the tables is not limited."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        for role in ("kim", "lou"):
            connection.execute(f"DROP ROLE IF EXISTS {role}")
            connection.execute(f"CREATE ROLE {role} LOGIN")
            connection.execute("INSERT INTO members (who, project) VALUES (%s, %s)", [role, PROJECT])
    kim, lou = (
        Machine(tmp_path / role, server.url.replace("team@", f"{role}@")) for role in ("kim", "lou")
    )
    begun(kim, lou)
    kim.note(1)
    kim.begin("s2", kim.cloned("other", "git@git.example.org:harbour/other.git"))
    kim.note(2, "s2")
    taken, hidden = kim.take(), kim.take("s2")
    made = kim.round()
    assert (made.trouble, made.waiting) == ("", 0)
    assert "were refused" in kim.tried("status").stdout
    assert [(one["uid"], one["who"]) for one in lou.say("checkpoint", "list", "--team")] == [
        (taken["uid"], "kim")
    ]
    refused = (kim.home / "outbox" / "refused.jsonl").read_bytes()
    kim.round(everything=True)  # and once more, to no avail
    assert (kim.home / "outbox" / "refused.jsonl").read_bytes() == refused
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("INSERT INTO members (who, project) VALUES ('kim', '*')")
    kim.round(everything=True)
    assert "were refused" not in kim.tried("status").stdout
    assert {one["uid"] for one in kim.say("checkpoint", "list", "--team")} == {taken["uid"], hidden["uid"]}
    assert len(lou.say("checkpoint", "list", "--team")) == 1
