"""Vectors of a team in Qdrant: asked by project only, erased with their memories, missed and said so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy
import pytest

from holdfast.errors import BadInput
from holdfast.memory import deep, qdrant
from holdfast.memory.postgres import Postgres
from holdfast.memory.qdrant import Qdrant, VectorsAway
from holdfast.memory.shelf import Filter, Item
from holdfast.ops import remember
from memory.qdrant import KEY, StandIn
from memory.test_shared import SAID, Machine, _apart, texts  # noqa: F401

TIDE = Item("a1", "decisions", "The gauge is polled", "/p", at=10, source="/c/1", shape="tide")
ONE = numpy.array([1.0, 0.0], dtype=numpy.float32)


def test_every_question_names_the_projects_that_may_be_seen(on_wire: Qdrant, stand_in: StandIn) -> None:
    on_wire.add([TIDE, replace(TIDE, uid="b1", project="/q")])
    on_wire.put_vectors("m", [("a1", ONE), ("b1", ONE)])
    assert [uid for uid, _ in on_wire.nearest("m", ONE, Filter(("/p",)), 5)] == ["a1"]
    assert {uid for uid, _ in on_wire.nearest("m", ONE, Filter(), 5)} == {"a1", "b1"}
    assert on_wire.similar("m", ONE, ["b1"]) == {"b1": 1.0}
    assert on_wire.counts("m").vectors == 2
    asked = [said for _, path, said in stand_in.seen if path.endswith(("/query", "/count"))]
    assert len(asked) == 4
    for said in asked:
        (projects,) = [one["match"]["any"] for one in said["filter"]["must"] if one.get("key") == "project"]
        assert projects


def test_a_point_that_the_shelf_does_not_show_is_not_told(on_wire: Qdrant, stand_in: StandIn) -> None:
    """Of a project that this role may not see, of one erased a moment ago, or put in by anybody."""
    on_wire.add([TIDE])
    on_wire.put_vectors("m", [("a1", ONE)])
    for project in ("/p", "/secret"):
        point = {"uid": f"foreign {project}", "project": project, "collection": "", "origin": ""}
        model = qdrant._name("m", 2)
        from qdrant_client import models

        made = models.PointStruct(id=qdrant._id(f"x{project}"), vector=[1.0, 0.0], payload=point)
        stand_in.embedded.upsert(model, [made])
    assert on_wire.nearest("m", ONE, Filter(), 5) == [("a1", 1.0)]


def test_what_goes_or_changes_takes_its_vector_with_it(on_wire: Qdrant, stand_in: StandIn) -> None:
    name = qdrant._name("m", 2)
    on_wire.add([TIDE, replace(TIDE, uid="a2", shape="other"), replace(TIDE, uid="a3", shape="third")])
    on_wire.put_vectors("m", [(uid, ONE) for uid in ("a1", "a2", "a3")])
    assert on_wire.lacking("m", 2, 5) == []
    on_wire.remove(["a1"])
    on_wire.forget("/p", ["other"])
    assert stand_in.embedded.count(name).count == 1
    on_wire.add([replace(TIDE, uid="a3", text="says another thing", shape="new", at=20)])
    assert stand_in.embedded.count(name).count == 0
    assert on_wire.lacking("m", 2, 5) == [("a3", "says another thing")]


@pytest.fixture
def team(tmp_path: Path, on_postgresql: Postgres, server, stand_in: StandIn) -> tuple[Machine, Machine]:
    alice, bob = (Machine(tmp_path, name, server.url, vectors=stand_in.url) for name in ("alice", "bob"))
    return alice, bob


def test_a_team_recalls_and_erases_by_it(
    team: tuple[Machine, Machine], stand_in: StandIn, on_postgresql: Postgres
) -> None:
    alice, bob = team
    alice.take(SAID, "assistant")
    alice.recall("tide gauge")
    alice.recall("tide gauge")  # with the vector that was made for the first
    (name,) = [one.name for one in stand_in.embedded.get_collections().collections]
    assert stand_in.embedded.count(name).count == 1
    assert on_postgresql.counts().models == {}, "PostgreSQL keeps none"
    (one,) = bob.recall("how often is the water level measured").found
    assert one.text == SAID, "by meaning alone"
    remember.erase(bob.app, [one.uid])
    assert stand_in.embedded.count(name).count == 0
    assert KEY not in str(stand_in.seen)


@pytest.mark.parametrize("how", ["refuses", "is gone"])
def test_without_it_words_answer_and_that_is_said(
    team: tuple[Machine, Machine], stand_in: StandIn, how: str
) -> None:
    alice, bob = team
    alice.take(SAID, "assistant")
    alice.recall("tide gauge")
    if how == "refuses":
        stand_in.fails = 503
    else:
        stand_in.stop()
        qdrant._client.cache_clear()
    bob.take("something of bob's own", "assistant")
    found = bob.recall("tide gauge")
    assert texts(found) == [SAID, "something of bob's own"], "what waits is told from home"
    assert "with the team; keyword only there: http://127.0.0.1" in found.mode
    assert KEY not in found.mode
    assert "vectors.url" in found.mode
    assert deep._resting == {}, "PostgreSQL is well"


def test_a_key_is_not_sent_where_others_can_read_it(on_postgresql: Postgres) -> None:
    with pytest.raises(BadInput, match="https"):
        Qdrant(on_postgresql, f"http://{KEY}@qdrant.example:6333").nearest("m", ONE, Filter(("/p",)), 5)
    with pytest.raises(BadInput, match="takes http"):
        Qdrant(on_postgresql, "ftp://qdrant.example").nearest("m", ONE, Filter(("/p",)), 5)
    with pytest.raises(VectorsAway) as told:
        Qdrant(on_postgresql, f"http://{KEY}@127.0.0.1:1").nearest("m", ONE, Filter(("/p",)), 5)
    assert KEY not in str(told.value)
