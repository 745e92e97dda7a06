"""How much of a window tasks take, which of them go together, and what is too large for any.

A task is what people write down, a dict: `description`, and, where it is known, `id`, `files`, `creates`,
`reads`, `estimated_files`, `subtasks`, `depends_on`, `keep_together`. What one costs is asked of a
function, so that the rule of thumb (`thumb`) and what is known better are planned with in the same way.
"""

from holdfast.core import together
from holdfast.core.foreseen import PER_FILE, Facts
from holdfast.errors import BadInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container

    Cost = Callable[[dict], int]
    Whole = Callable[[list[dict]], int]
    Near = Callable[[str, str], float]

WARNING = "Task may exceed context budget"
CHECKPOINT = "Run /checkpoint to save progress"
#: No model's window holds more.
LARGEST_WINDOW = 1_000_000
_TIMES = {"refactor": 2.0, "implement": 1.5, "fix": 1.0, "update": 0.8, "add": 1.2}
_LETTERS = 4
_FILES = 3
#: What the longest number of a part adds to a description.
_NUMBERED = " (part 999 of 999)"


def effort(description: str) -> float:
    """How much more than reading it a task takes, by the strongest word that says so."""
    low = description.lower()
    return max([1.0, *(times for word, times in _TIMES.items() if word in low)])


def thumb(task: dict) -> int:
    """Tokens by the rule of thumb: four letters to a token of description, 2,000 for a file."""
    files = _counted(task, _FILES) * PER_FILE
    return int((len(task["description"]) // _LETTERS + files) * effort(task["description"]))


def sized(task: dict, sizes: dict[str, int]) -> int:
    """The same with what is known of its files: `sizes` are their tokens, as they are read."""
    named = [*task.get("files", ()), *task.get("creates", ()), *task.get("reads", ())]
    count = _counted(task, len(named) or _FILES)
    files = sum(sizes.get(file, PER_FILE) for file in named) + max(0, count - len(named)) * PER_FILE
    return int((len(task["description"]) // _LETTERS + files) * effort(task["description"]))


def facts(task: dict, sizes: dict[str, int], held: "Container[str]" = ()) -> Facts | None:
    """What it says of its files, of which a window holds some; None where it names none. Those it counts
    and does not name it changes."""
    changes, creates, reads = (task.get(key, ()) for key in ("files", "creates", "reads"))
    if not (changes or creates or reads):
        return None
    more = max(0, _counted(task, 0) - len(changes) - len(creates) - len(reads))
    said = len(reads) if "reads" in task else -1
    changed, read = (sum(sizes.get(file, PER_FILE) for file in named) for named in (changes, reads))
    there = (sum(sizes.get(file, PER_FILE) for file in named if file in held) for named in (changes, reads))
    count = len(changes) + more
    tokens = changed + more * PER_FILE, read, *there
    return Facts(len(task["description"]), count, len(creates), said, *tokens)


def _counted(task: dict, known: int) -> int:
    """How many files it says it will touch; `known` where it says nothing."""
    said = task.get("estimated_files")
    return known if said is None else said


def warned(task: dict, what: str = WARNING) -> dict:
    return {**task, "warning": what}


def split(task: dict, available: int, cost: "Cost", near: "Near" = together.kinship) -> list[dict]:
    """As it is if it fits; else its subtasks; else its files in groups; else with a warning."""
    if cost(task) <= available:
        return [task]
    if task.get("keep_together") is not True:
        if task.get("subtasks"):
            return list(task["subtasks"])
        if task.get("files"):
            return by_files(task, task["files"], available, cost, near)
    return [warned(task)]


def by_files(
    task: dict, files: list[str], available: int, cost: "Cost", near: "Near" = together.kinship
) -> list[dict]:
    """Parts with some of its files each: those that belong together in one, as far as they fit. Where more
    were estimated than are named, each part has its share of the rest. What is new is made by the first."""
    count = max(_counted(task, 0), len(files))

    def part(group: list[str], numbered: str) -> dict:
        made = {**task, "files": group, "estimated_files": -(-count * len(group) // len(files))}
        made["description"] = task["description"] + numbered
        if files[0] not in group:
            made.pop("creates", None)
        return made

    def fits(group: list[str]) -> bool:
        return cost(part(group, _NUMBERED)) <= available

    groups = together.grouped(files, fits, near)
    parts = []
    for number, group in enumerate(groups, 1):
        made = part(group, f" (part {number} of {len(groups)})" if len(groups) > 1 else "")
        if "id" in task and len(groups) > 1:
            made["id"] = f"{task['id']}.{number}"
        parts.append(made if cost(made) <= available else warned(made))
    return parts


def batches(
    tasks: list[dict],
    available: int,
    cost: "Cost",
    near: "Near" = together.kinship,
    whole: "Whole | None" = None,
) -> list[list]:
    """Tasks that fit into `available` together, batch after batch: none beside one it depends on, nor
    beside one that names the same file, because they run at once. What is too large is alone. `whole` is
    what many cost together, where that is not the sum of what each does."""

    planned: list[list] = []
    spent: list[int] = []
    names: list[set] = []
    place: dict[str, int] = {}
    for task in ordered(_expanded(tasks, available, cost, near)):
        least = max((place[name] + 1 for name in task.get("depends_on", ())), default=0)
        takes, mine = cost(task), {*task.get("files", ()), *task.get("creates", ())}
        for at in range(least, len(planned)):
            if spent[at] < available and mine.isdisjoint(names[at]):
                more = whole([*planned[at], task]) if whole else spent[at] + takes
                if more <= available:
                    break
        else:
            at, more = len(planned), takes
            planned.append([])
            spent.append(0)
            names.append(set())
        planned[at].append(task)
        spent[at] = more
        names[at] |= mine
        if "id" in task:
            place[task["id"]] = at
    return planned


def _expanded(tasks: list[dict], available: int, cost: "Cost", near: "Near") -> list[dict]:
    """Every task as the parts it is done in; whoever depends on one depends on all of them."""
    done_in: dict[str, list[str]] = {}
    parts = [part for task in tasks for part in _parts(task, available, cost, near, done_in)]
    return [
        {**part, "depends_on": list(dict.fromkeys(_meant(part["depends_on"], done_in)))}
        if part.get("depends_on")
        else part
        for part in parts
    ]


def _meant(names: list[str], done_in: dict[str, list[str]]) -> list[str]:
    return [name for one in names for name in done_in.get(one, [one])]


def _parts(task: dict, available: int, cost: "Cost", near: "Near", done_in: dict) -> list[dict]:
    """Split as often as it helps: subtasks end somewhere, and of a single file nothing is split."""
    pieces = split(task, available, cost, near)
    subtasks = task.get("subtasks", ())
    if subtasks and pieces == list(subtasks):
        pieces = [
            part
            for number, piece in enumerate(pieces, 1)
            for part in _parts(_subtask(task, piece, number), available, cost, near, done_in)
        ]
    else:
        done_in.update({sub["id"]: [task["id"]] for sub in subtasks if "id" in sub and "id" in task})
    if "id" in task:
        done_in[task["id"]] = [part["id"] for part in pieces if "id" in part]
    return pieces


def _subtask(task: dict, piece: dict, number: int) -> dict:
    """With a name of its own, and after all that the whole waits for."""
    made = {"id": f"{task['id']}.{number}", **piece} if "id" in task else dict(piece)
    waits = [*made.get("depends_on", ()), *task.get("depends_on", ())]
    return {**made, "depends_on": waits} if waits else made


def ordered(tasks: list[dict]) -> list[dict]:
    """After those each depends on, else as given. BadInput for what does not exist or goes in a circle."""
    known = {task["id"]: task for task in tasks if "id" in task}
    for task in tasks:
        if "id" in task and known[task["id"]] is not task:  # a part may be called like a task
            raise BadInput(f"there are two tasks {task['id']!r}; give one of them another id")
        for other in task.get("depends_on", ()):
            if other not in known:
                raise BadInput(
                    f"{task.get('id', 'a task')} depends on {other!r}, which is not there; "
                    f"there are: {', '.join([*known][:20])}"
                )
    found: list[dict] = []
    done: set[str] = set()
    waiting = list(tasks)
    while waiting:
        ready = [task for task in waiting if done.issuperset(task.get("depends_on", ()))]
        if not ready:
            raise BadInput(
                f"these wait for each other: {_circle(waiting, done, known)}; take one dependency out"
            )
        found += ready
        done.update(task["id"] for task in ready if "id" in task)
        left = {id(task) for task in ready}
        waiting = [task for task in waiting if id(task) not in left]
    return found


def _circle(waiting: list[dict], done: set[str], known: dict[str, dict]) -> str:
    """From a task on along what it waits for, until one comes again."""
    names: list[str] = []
    name = next(other for other in waiting[0]["depends_on"] if other not in done)
    while name not in names:
        names.append(name)
        name = next(other for other in known[name]["depends_on"] if other not in done)
    return " → ".join([*names[names.index(name) :], name])


def workflow(planned: list[list]) -> dict:
    """Batches as nodes, with a checkpoint between each two."""
    made: dict = {"nodes": {}, "edges": []}
    for number, batch in enumerate(planned):
        made["nodes"][f"batch_{number}"] = {"type": "parallel", "tasks": batch}
        if number < len(planned) - 1:
            made["nodes"][f"checkpoint_{number}"] = {"type": "single", "prompt": CHECKPOINT}
            made["edges"].append({"from": f"batch_{number}", "to": f"checkpoint_{number}"})
            made["edges"].append({"from": f"checkpoint_{number}", "to": f"batch_{number + 1}"})
    return made
