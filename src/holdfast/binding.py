"""What binds a session whatever its summary says: rules marked (CRITICAL) or (ENFORCED), for a brief.

Those a person typed stand in their words; those of a file are quoted, with the file, because a repository
may come from anyone. Loaded only when a brief is made.
"""

from holdfast.app import ANSWERED, Holdfast
from holdfast.books import mark, note
from holdfast.core.budget import FOR_RULES, SAFETY, Budget, of
from holdfast.core.fence import TYPED, fenced, not_typed
from holdfast.core.plain import PER_TOKEN
from holdfast.core.rules import MARKERS, Rule, marked
from holdfast.core.settled import taken_back
from holdfast.disk import budgets, client, instructions
from holdfast.material import Ground, Material, redactor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.spoken import Redact

#: Said of them where there are any.
SAYS = " First the rules that were in force: marked (CRITICAL) or (ENFORCED), each with its origin."
#: Seconds for reading files of instructions.
_PATIENCE_S = 0.4
_LONGEST_PATH = 400
_KEPT = "Kept by the user for this project, where the client does not look (a CLAUDE.md of their own):"


def budget(app: Holdfast, project: str) -> Budget:
    return of(app.config, budgets.saved(app.home, project))


def after_compaction(app: Holdfast, material: Material, tokens: float, granted: Budget) -> list[str]:
    """The rules that held before it and that the client does not bring back."""
    facts, project = material.facts, material.ground.project
    given = material.state.heard.project  # perhaps through a link
    opened = [
        project + path.removeprefix(given) if path.startswith(given + "/") else path
        for path, row in facts.touched.files.items()
        if row[0]
    ]
    seconds = max(0.0, min(_PATIENCE_S, app.left(ANSWERED)))
    gone = taken_back(facts) if facts.rules else []
    found = [Rule(marked(said), said) for _, _, said in facts.rules if said not in gone]
    state = material.state
    read = client.instruction_files(state.heard.client, state.seen.version)
    told, is_all = instructions.unreloaded(app.client_dir, project, opened[::-1], seconds, read)
    if not is_all:
        note(app, state, "degraded.rules", "not every file of instructions could be read in time")
    found += told
    return _fitting(found, material.redactor.text, project, tokens, granted)


def at_start(app: Holdfast, ground: Ground, tokens: float, most: int) -> str:
    """What the user's file for this project says, which the client does not know: its rules, then the rest,
    fenced, in so many tokens and at most that many characters."""
    said = instructions.all_of_project(app.client_dir, ground.project)
    if not said:
        return ""
    redact, granted = redactor_of(app, ground.project).text, budget(app, ground.project)
    lines = _fitting([one for one in said if one.marker], redact, ground.project, tokens, granted)
    room = int(tokens * PER_TOKEN) - len(_KEPT) - sum(len(line) + 1 for line in lines)
    rest = [one for one in said if not one.marker]
    for at, one in enumerate(rest):
        line = not_typed(f"{one.path.rpartition('/')[2]}:{one.line}: {redact(one.text)}")
        room -= len(line) + 1
        if room < 0:
            lines.append(f"{len(rest) - at} more lines: {one.path}")
            break
        lines.append(line)
    return fenced(mark(), _KEPT, lines, most)


def _fitting(
    found: list[Rule], redact: "Redact", project: str, tokens: float, granted: Budget
) -> list[str]:
    """Those for which there is room, the critical ones first; and how many there are beside them."""
    room = max(granted.room(SAFETY, tokens), int(tokens * PER_TOKEN * FOR_RULES))
    kept: dict[str, None] = {}
    left = 0
    for rule in sorted(found, key=lambda rule: MARKERS.index(rule.marker)):
        line = _line(rule, project, redact(rule.text))
        if line in kept:
            continue
        if len(line) >= room:
            left += 1
            continue
        room -= len(line) + 1
        kept[line] = None
    return [*kept, *([f"{left} more rules: holdfast rules enforced"] if left else [])]


def _line(rule: Rule, project: str, words: str) -> str:
    if not rule.path:
        return TYPED + words
    where = rule.path.removeprefix(project + "/")[-_LONGEST_PATH:]
    return not_typed(f"Rule of {where}:{rule.line}: {words}")
