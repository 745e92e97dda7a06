"""Where a stretch begins and ends, which files it touched, and what of them the window held."""

from __future__ import annotations

from holdfast.core.stretch import Stretch
from holdfast.ops.costs import of_lines, taught_by
from session import Script, text, use


def cut(script: Script) -> list[Stretch]:
    return of_lines(script.bytes().splitlines(keepends=True))


def reads(script: Script, call: str, path: str, context: int) -> None:
    script.answer(use(call, "Read", file_path=path), context=context)
    shown = {"content": "x" * 400, "numLines": 10, "totalLines": 10}
    script.result(call, "…", {"type": "text", "file": shown})


def runs(script: Script, call: str, command: str, context: int, **block: object) -> None:
    script.answer(use(call, "Bash", command=command), context=context)
    script.result(call, "…", {"stdout": "…"}, **block)


def command(script: Script, name: str, given: str = "") -> None:
    said = f"<command-message>x</command-message>\n<command-name>{name}</command-name>"
    script.prompt(f"{said}\n<command-args>{given}</command-args>", promptSource=None)


def test_a_command_for_the_model_begins_a_task_and_one_for_the_client_none() -> None:
    script = Script()
    script.prompt("fix it")
    script.answer(text("so"), context=20_000)
    command(script, "/review", "the last commit")
    script.answer(text("so"), context=29_000)
    command(script, "/compact")
    script.answer(text("so"), context=30_000)
    one, other = cut(script)
    assert (one.words, other.words) == ("fix it", "/review the last commit")
    assert (one.cost, other.cost) == (0, 10_000)


def test_what_was_cut_off_is_not_done() -> None:
    script = Script()
    script.prompt("fix it")
    script.answer(text("so"), use("a", "Bash", command="make"), context=20_000)
    script.prompt("[Request interrupted by user for tool use]", promptSource=None)
    script.prompt("better so")
    script.answer(use("b", "Bash", command="make"), context=22_000)
    script.result("b", "ok")
    script.answer(text("done"), context=23_000)
    script.prompt("and now")
    script.answer(text("done"), context=24_000)
    script.prompt("[Request interrupted by user]", promptSource=None)
    assert [one.is_done for one in cut(script)] == [False, True, False]


def test_files_that_commands_show_and_write_are_files_too() -> None:
    script = Script()
    script.prompt("fix it")
    runs(script, "a", "cd /p && sed -n '1,9p' a.py; cat b.py > /tmp/x.txt", 20_000)
    runs(script, "b", "cat /p/gone.py", 21_000, is_error=True)
    reads(script, "c", "/p/c.py", 22_000)
    runs(script, "d", "sed -i s/a/b/ /p/c.py; echo hi > /p/new.md", 23_000)
    script.answer(text("done"), context=24_000)
    (one,) = cut(script)
    assert (one.read, one.changed) == ({"/p/a.py": None, "/p/b.py": None}, {"/p/c.py": 400})
    assert one.created == {"/p/new.md"}
    assert one.facts()


def test_a_command_makes_a_file_once_and_none_that_it_changes_in_its_place() -> None:
    script = Script()
    script.prompt("fix it")
    runs(script, "a", "sed -i s/a/b/ /p/x.py; cat > /p/new.py", 20_000)
    script.prompt("and more")
    script.boundary()
    runs(script, "b", "cat /p/y.py; cat > /p/new.py; cat > /p/y.py", 21_000)
    script.answer(text("done"), context=22_000)
    one, other = cut(script)
    assert (one.created, one.changed) == ({"/p/new.py"}, {"/p/x.py": None})
    assert (other.created, other.changed) == (set(), {"/p/new.py": None, "/p/y.py": None})


def test_nothing_is_held_after_a_compaction_that_comes_right_after_a_prompt() -> None:
    script = Script()
    script.prompt("look")
    reads(script, "a", "/a.py", 20_000)
    script.prompt("once more")
    script.boundary()
    (one,) = cut(script)
    assert one.window == set()
    reads(script, "b", "/a.py", 10_000)
    one, two = cut(script)
    assert (one.window, two.before, two.window) == ({"/a.py"}, set(), {"/a.py"})


def test_that_a_command_names_a_file_does_not_make_a_planned_task() -> None:
    script = Script()
    script.prompt("what is in it?")
    runs(script, "a", "cat /p/a.py", 20_000)
    script.answer(text("this"), context=21_000)
    (one,) = cut(script)
    assert one.read == {"/p/a.py": None}
    assert one.facts() is None


def test_the_window_holds_what_was_shown_until_it_is_compacted() -> None:
    script = Script()
    script.prompt("look")
    reads(script, "a", "/a.py", 20_000)
    script.answer(text("so"), context=21_000)
    script.prompt("look again")
    reads(script, "b", "/a.py", 22_000)
    script.boundary()
    reads(script, "c", "/b.py", 10_000)
    script.answer(text("so"), context=11_000)
    script.prompt("once more")
    reads(script, "d", "/a.py", 12_000)
    script.answer(text("so"), context=13_000)
    one, two, three = cut(script)
    assert (one.before, two.before, three.before) == (set(), {"/a.py"}, {"/b.py"})
    assert (one.window, two.window, three.window) == ({"/a.py"}, {"/b.py"}, {"/a.py", "/b.py"})
    assert [known.read_held > 0 for one in (one, two, three) if (known := one.facts())] == [
        False,
        True,
        False,
    ]


def test_what_a_fork_repeats_teaches_once_and_what_was_cut_off_nothing() -> None:
    script = Script()
    script.prompt("hello")
    script.answer(text("so"), context=20_000)
    script.prompt("fix it")
    script.answer(text("so"), context=22_000)
    lines, known = script.bytes().splitlines(keepends=True), set[str]()
    assert [one.words for one in taught_by(lines, known)] == ["fix it"]
    script.prompt("more")
    script.answer(text("so"), context=25_000)
    script.prompt("stop")
    script.answer(use("a", "Bash", command="make"), context=27_000)
    assert [one.words for one in taught_by(script.bytes().splitlines(keepends=True), known)] == ["more"]
