"""The queue, on every engine: what is claimed, by whom, for how long, and who waits for whom."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from sqlalchemy import text, update

from holdfast import clock
from holdfast.errors import BadInput, NotFound
from holdfast.store import chains, clocks, leases, queue
from holdfast.store.clocks import Moment
from holdfast.store.database import Store
from holdfast.store.holders import Holder
from holdfast.store.prepared import Prepared
from holdfast.store.queue import Queue
from holdfast.store.tables import TASKS
from holdfast.store.task import Draft, Task
from store.conftest import BUSY_S
from teammate import until

ANN, BEN, CAT = Holder("ann"), Holder("ben"), Holder("cat")
Shift = Callable[[int], None]


@pytest.fixture
def tasks(store: Store) -> Queue:
    return Queue(store)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Shift:
    """Let so many milliseconds pass on the clock of leases, and none by itself."""
    known, shift = list[Moment](), [0]

    def moment(connection) -> Moment:
        known[:] = known or [clocks.moment(connection)]
        return Moment(known[0].clock, known[0].at + shift[0])

    monkeypatch.setattr(queue, "moment", moment)
    return lambda ms: shift.__setitem__(0, shift[0] + ms)


def add(tasks: Queue, what: str = "do it", **fields) -> int:
    return tasks.add([Draft(what, "here", **fields)], "ann")[0].number


def claim(tasks: Queue, who: Holder = ANN, number: int | None = None, lease_s: float = 60) -> Task | None:
    return tasks.claim(who, "here", number, lease_s)


def test_the_most_urgent_is_claimed_first_and_of_two_the_older(tasks: Queue) -> None:
    low, high, also_high = add(tasks), add(tasks, priority=5), add(tasks, priority=5)
    assert [claim(tasks).number for _ in range(3)] == [high, also_high, low]
    assert claim(tasks) is None


def test_a_task_of_another_project_is_not_claimed(tasks: Queue) -> None:
    tasks.add([Draft("elsewhere", "there")], "ann")
    assert claim(tasks) is None


def test_what_is_claimed_nobody_else_gets(tasks: Queue) -> None:
    number = add(tasks)
    assert claim(tasks, ANN).holder == "ann"
    assert claim(tasks, BEN) is None
    with pytest.raises(BadInput, match="held by ann"):
        claim(tasks, BEN, number)
    for refused in (
        lambda: tasks.finish(number, "ben", ""),
        lambda: tasks.release(number, "ben"),
        lambda: tasks.renew(number, "ben", 60),
    ):
        with pytest.raises(BadInput, match="held by ann"):
            refused()


def test_claiming_what_one_holds_renews_it(tasks: Queue, later: Shift) -> None:
    number = add(tasks)
    first = claim(tasks, ANN, number)
    later(50_000)
    again = claim(tasks, ANN, number)
    assert again.claim == first.claim == 1
    assert again.lease_s == 60


def test_a_task_waits_for_what_it_needs(tasks: Queue) -> None:
    first = add(tasks)
    second = add(tasks, needs=(first,), priority=9)
    assert tasks.task(second).state == "blocked"
    with pytest.raises(BadInput, match=f"needs {first} "):
        claim(tasks, BEN, second)
    assert claim(tasks).number == first
    assert claim(tasks, BEN) is None
    tasks.finish(first, "ann", "")
    assert claim(tasks, BEN).number == second


def test_a_finish_counts_once(tasks: Queue) -> None:
    number = add(tasks)
    claim(tasks)
    done = tasks.finish(number, "ann", "it works")
    assert tasks.finish(number, "ann", "something else") == done
    with pytest.raises(BadInput, match="finished by ann"):
        tasks.finish(number, "ben", "")
    with pytest.raises(BadInput, match="finished by ann"):
        claim(tasks, BEN, number)


def test_what_is_released_is_open_again(tasks: Queue) -> None:
    number = add(tasks)
    claim(tasks)
    assert tasks.release(number, "ann").state == "open"
    assert tasks.release(number, "ann").state == "open"
    assert claim(tasks, BEN).claim == 2
    assert tasks.release(number, "ann", by_force=True).state == "open"


def test_a_lease_that_is_over_is_over_and_one_renewed_is_not(tasks: Queue, later: Shift) -> None:
    kept, lost = add(tasks), add(tasks)
    claim(tasks, ANN, kept)
    claim(tasks, ANN, lost)
    later(59_000)
    tasks.renew(kept, "ann", 60)
    later(1_000)
    assert tasks.task(lost).state == "open"
    assert tasks.task(kept).state == "claimed"
    assert claim(tasks, BEN).number == lost
    with pytest.raises(BadInput, match="held by ben"):
        tasks.finish(lost, "ann", "")


def test_work_whose_lease_ended_can_still_be_finished_if_nobody_else_began_it(
    tasks: Queue, later: Shift
) -> None:
    number = add(tasks)
    claim(tasks)
    later(61_000)
    assert tasks.task(number).state == "open"
    assert tasks.finish(number, "ann", "late").state == "finished"


def test_a_lease_that_is_over_keeps_nobody_from_finishing_or_releasing(tasks: Queue, later: Shift) -> None:
    """Also where nobody has looked since."""
    one, other = add(tasks), add(tasks)
    claim(tasks, ANN, one)
    claim(tasks, ANN, other)
    later(61_000)
    assert tasks.finish(one, "ben", "").finished_by == "ben"
    claim(tasks, ANN, other)
    later(122_000)
    assert tasks.release(other, "ben").state == "open"


@pytest.mark.parametrize("jump_ms", [-10 * 365 * 86_400_000, 10 * 365 * 86_400_000])
def test_a_jump_of_the_wall_clock_neither_ends_a_lease_nor_keeps_it(
    tasks: Queue, later: Shift, monkeypatch: pytest.MonkeyPatch, jump_ms: int
) -> None:
    number = add(tasks)
    claim(tasks)
    at = clock.now()
    monkeypatch.setattr(time, "time", lambda: (at + jump_ms) / 1000)
    assert clock.now() == at + jump_ms
    assert tasks.task(number).state == "claimed"
    assert tasks.task(number).lease_s == 60
    later(61_000)
    assert tasks.task(number).state == "open"


@pytest.mark.parametrize(
    "then", [lambda at: Moment("another", 5), lambda at: Moment(at.clock, at.at - 10**9)]
)
def test_a_lease_whose_clock_began_anew_gets_one_whole_lease_more(
    tasks: Queue, monkeypatch: pytest.MonkeyPatch, then: Callable[[Moment], Moment]
) -> None:
    """The machine was started again, or a server's clock was set back."""
    number, real, passed = add(tasks), clocks.moment, [0]
    claim(tasks)

    def moment(connection) -> Moment:
        began = then(real(connection))
        return Moment(began.clock, began.at + passed[0])

    monkeypatch.setattr(queue, "moment", moment)
    assert tasks.task(number).state == "claimed"
    assert tasks.task(number).lease_s <= 60
    passed[0] = 30_000
    assert tasks.task(number).state == "claimed"
    passed[0] = 90_000
    assert tasks.task(number).state == "open"


def test_what_a_dead_holder_held_is_open_and_its_next_claim_is_not_touched(store: Store) -> None:
    dead: set[str] = set()
    told: list[tuple[str, dict]] = []
    tasks = Queue(
        store, lambda holder: holder.name in dead, lambda event, **data: told.append((event, data))
    )
    number = add(tasks)
    claim(tasks, Holder("ann", "m", 7, 8))
    dead.add("ann")
    tasks._looked = -100.0
    assert claim(tasks, Holder("ben", "m", 9, 9)).number == number
    assert ("task.released", "died") in [(event, data.get("why")) for event, data in told]
    # Somebody else found the same, decided before ben had it, and is only late.
    with store.writing() as connection:
        assert leases.end_claims(connection, clocks.moment(connection), [(number, 1)]) == []
    assert tasks.task(number).holder == "ben"


@pytest.mark.parametrize("payload", ["{", "[]", "", "[" * 100_000])
def test_what_somebody_else_wrote_beside_a_task_holds_up_nobody(
    store: Store, tasks: Queue, payload: str
) -> None:
    number = add(tasks, payload={"files": ["gate.py"]})
    assert tasks.task(number).payload == {"files": ["gate.py"]}
    with store.writing() as connection:
        connection.execute(update(TASKS).values(payload=payload))
    shown = [claim(tasks), tasks.task(number), *tasks.tasks("here", None, 0)]
    assert [task.payload for task in shown] == [{}, {}, {}]


def test_adding_the_same_twice_adds_it_once(tasks: Queue) -> None:
    draft = Draft("do it", "here", uid=clock.new_id(clock.now()))
    assert tasks.add([draft], "ann")[0].number == tasks.add([draft], "ann")[0].number
    assert len(tasks.tasks("here", None, 0)) == 1


def test_tasks_added_together_may_need_each_other(tasks: Queue) -> None:
    drafts = [
        Draft("last", "here", needs=("first", "second")),
        Draft("in the middle", "here", needs=("first",), name="second"),
        Draft("begin", "here", name="first"),
    ]
    last, second, first = tasks.add(drafts, "ann")
    assert set(last.needs) == {first.number, second.number}
    assert [claim(tasks).number, claim(tasks)] == [first.number, None]


@pytest.mark.parametrize(
    ("drafts", "says"),
    [
        ([Draft("a", "here", needs=(99,))], "no task 99"),
        ([Draft("a", "here", needs=("b",), name="a")], "no task of that name"),
        ([Draft("a", "here", needs=("a",), name="a")], "a needs a"),
        (
            [Draft("a", "here", needs=("b",), name="a"), Draft("b", "here", needs=("a",), name="b")],
            "none of them could ever begin",
        ),
        ([Draft("a", "here", name="x"), Draft("b", "here", name="x")], "same name"),
    ],
)
def test_needs_that_are_missing_or_go_in_a_circle_are_refused_and_nothing_is_added(
    tasks: Queue, drafts: list[Draft], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        tasks.add([Draft("good", "here"), *drafts], "ann")
    assert tasks.tasks(None, None, 0) == []


def test_one_cannot_wait_for_oneself(tasks: Queue) -> None:
    number = add(tasks)
    claim(tasks)
    with pytest.raises(BadInput, match="held by ann"):
        tasks.wait(number, "ann", 0)


def waiting(tasks: Queue, who: str, number: int) -> threading.Thread:
    """Until somebody else sees that it waits."""
    thread = threading.Thread(target=Queue(tasks.store).wait, args=(number, who, BUSY_S), daemon=True)
    thread.start()
    until(lambda: any(link.who == who for link in tasks.chain(None)))
    return thread


def test_a_wait_that_would_close_a_circle_is_refused_and_says_which(tasks: Queue) -> None:
    one, two, three = add(tasks), add(tasks), add(tasks)
    for who, number in ((ANN, one), (BEN, two), (CAT, three)):
        claim(tasks, who, number)
    first, second = waiting(tasks, "ann", two), waiting(tasks, "ben", three)
    with pytest.raises(BadInput, match="ben waits for task 3") as refused:
        tasks.wait(one, "cat", 5)
    assert "ann waits for task 2" in str(refused.value)
    assert [str(link) for link in tasks.chain(one)] == ["ann waits for task 2", "ben waits for task 3"]
    tasks.finish(three, "cat", "")
    second.join(BUSY_S)
    tasks.finish(two, "ben", "")
    first.join(BUSY_S)
    assert not first.is_alive()
    assert tasks.chain(None) == []


def test_a_wait_for_what_needs_ones_own_task_is_refused(tasks: Queue) -> None:
    mine = add(tasks)
    after = add(tasks, needs=(mine,))
    claim(tasks, ANN, mine)
    with pytest.raises(BadInput, match=f"task {after} needs task {mine}"):
        tasks.wait(after, "ann", 0)


def test_a_claim_that_would_close_a_circle_is_passed_over(tasks: Queue) -> None:
    """ann waits for what ben does, and ben for a task that nobody has: ann must not be the one."""
    bens, free = add(tasks), add(tasks)
    claim(tasks, BEN, bens)
    threads = [waiting(tasks, "ben", free), waiting(tasks, "ann", bens)]
    assert claim(tasks, ANN) is None
    with pytest.raises(BadInput, match="nobody would go on"):
        claim(tasks, ANN, free)
    assert claim(tasks, CAT).number == free
    tasks.finish(free, "cat", "")
    tasks.finish(bens, "ben", "")
    for thread in threads:
        thread.join(BUSY_S)


def test_who_waits_is_told_when_it_is_finished_and_when_the_time_is_over(tasks: Queue) -> None:
    number = add(tasks)
    assert tasks.wait(number, "ben", 0).state == "open"
    thread = waiting(tasks, "ben", number)
    tasks.finish(number, "ann", "")
    thread.join(BUSY_S)
    assert not thread.is_alive()


@pytest.mark.parametrize("number", [1, 0, -1, 2**31, 10**21])
def test_a_task_that_is_not_there_is_not_found(tasks: Queue, number: int) -> None:
    for asked in (
        lambda: tasks.task(number),
        lambda: claim(tasks, ANN, number),
        lambda: tasks.finish(number, "ann", ""),
        lambda: tasks.wait(number, "ann", 0),
    ):
        with pytest.raises(NotFound, match=f"no task {number};"):
            asked()
    with pytest.raises(BadInput, match=f"no task {number} that could be needed"):
        add(tasks, needs=(number,))


def test_of_a_number_that_no_task_has_nothing_depends(tasks: Queue) -> None:
    with pytest.raises(NotFound, match="no task"):
        tasks.chain(10**21)


def test_lists_have_what_is_to_be_done_first_in_front(tasks: Queue) -> None:
    done, low, high = add(tasks, "done"), add(tasks, "low"), add(tasks, "high", priority=1)
    blocked = add(tasks, "blocked", needs=(low,))
    tasks.finish(done, "ann", "")
    claim(tasks, ANN, high)
    assert [task.number for task in tasks.tasks("here", None, 0)] == [high, low, blocked, done]
    for state, numbers in {
        "open": [low],
        "blocked": [blocked],
        "claimed": [high],
        "finished": [done],
    }.items():
        assert [task.number for task in tasks.tasks("here", state, 0)] == numbers
    assert [task.number for task in tasks.tasks(None, None, 2)] == [high, low]
    assert tasks.counts("here") == {"open": 1, "blocked": 1, "claimed": 1, "finished": 1}


def test_of_those_finished_in_one_moment_the_newer_is_listed_first(store: Store, tasks: Queue) -> None:
    numbers = [add(tasks) for _ in range(5)]
    for number in numbers:
        tasks.finish(number, "ann", "")
    with store.writing() as connection:
        connection.execute(update(TASKS).values(finished_at=7))
    assert [task.number for task in tasks.tasks("here", "finished", 0)] == numbers[::-1]
    assert [task.number for task in tasks.tasks(None, "finished", 2)] == numbers[:2:-1]


def test_what_is_finished_while_tasks_are_listed_is_listed_once(
    store: Store, tasks: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    number, listed = add(tasks), queue._listed

    def finishing(state: str | None, of_project: bool) -> Prepared:
        if state == "finished" and store.engine.dialect.name == "postgresql":
            Queue(store).finish(number, "ann", "")
        return listed(state, of_project)

    monkeypatch.setattr(queue, "_listed", finishing)
    assert [task.state for task in tasks.tasks("here", None, 0)] == ["open"]
    monkeypatch.undo()
    assert [task.number for task in tasks.tasks("here", None, 0)] == [number]


def test_any_number_of_tasks_may_need_others_and_be_needed(
    store: Store, tasks: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chains, "WAIT_MS", 3_600_000)  # nobody says meanwhile that she still waits
    first, last, many = add(tasks), add(tasks), 70_000
    with store.writing() as connection:
        numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :many) "
        columns = "uid, project, description, payload, priority, state, added_by, added_at"
        made = "SELECT 'u' || i, 'here', 'do it', '{}', 0, 'open', 'ann', 0 FROM n"
        connection.execute(text(f"{numbers}INSERT INTO tasks ({columns}) {made}"), {"many": many})
        between = "FROM tasks WHERE uid LIKE 'u%'"
        for needs in (f"number, {first} {between}", f"{last}, number {between}"):
            connection.execute(text(f"INSERT INTO needs SELECT {needs}"))
        chains.wait(connection, clocks.moment(connection), "ann", last)
    assert claim(tasks, ANN) is None
    assert len(tasks.tasks("here", None, 0)) == many + 2
    assert len(tasks.chain(last)) == 2 * many
    assert len(tasks.chain(None)) == 2 * many + 1
    for number in (first, last):
        tasks.finish(number, "ben", "")
    assert tasks.chain(None) == []


def test_of_many_who_claim_at_once_each_gets_its_own(store: Store) -> None:
    for _ in range(40):
        add(Queue(store))
    got: list[int] = []

    def work(who: str) -> None:
        tasks = Queue(store)
        while task := claim(tasks, Holder(who)):
            got.append(task.number)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(set(got))
    assert len(got) == 40
