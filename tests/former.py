"""Sessions of which an earlier version of holdfast has written state and facts: see tests/disk/former/."""

from __future__ import annotations

from session import Script, text, use

RULE = "Always keep the harbour port at 5433, whatever the linter says."
LATER = "Never touch the tide tables without asking me."


def normal() -> Script:
    script = Script()
    script.prompt(RULE)
    for number in range(8):
        script.answer(text(f"We chose lamp {number} because it is brighter than the others."))
        script.answer(use(f"b{number}", "Bash", command=f"pytest tests/lamp{number}"))
        failed = number % 2
        script.result(f"b{number}", f"Exit code {failed}\nlamp {number}", is_error=bool(failed))
    script.answer(
        use("e1", "Edit", file_path="/home/mira/tidegate/lamp.py", old_string="a", new_string="b")
    )
    script.result("e1", "edited")
    script.answer(text("Done."))
    return script


def late() -> Script:
    """Met after 9 MB: the newest part has been read, and some of the front."""
    script = normal()
    for number in range(90):
        script.answer(use(f"c{number}", "Bash", command=f"cat log{number}"))
        script.result(f"c{number}", f"line {number} " + 100_000 * "x")
    script.prompt("Mend the lamp.")
    script.answer(text("It is mended."))
    return script


def goes_on(script: Script) -> Script:
    """What a later version reads besides."""
    script.prompt(LATER)
    script.answer(text("I will ask."))
    return script
