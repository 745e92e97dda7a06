"""Rules in the client's files of instructions that it does not read again when it compacts.

CLAUDE.md or AGENTS.md of a folder below the project, and rules that are for certain paths, the client loads
when a file there is opened, and forgets with the conversation. `projects/<path>/CLAUDE.md` it does not know
at all. A repository may come from anyone: every read has a bound, and a link leads nowhere else.
"""

import posix

from holdfast.clock import elapsed
from holdfast.core.rules import Document, Rule, matches
from holdfast.disk import files
from holdfast.disk.client import BOTH, EITHER, ONLY_CLAUDE, slug
from holdfast.disk.worktree import real
from holdfast.errors import BadInput

NAMES = ("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md")
AGENTS = ("AGENTS.md", ".claude/AGENTS.md")
RULES = ".claude/rules"
#: Of one file and of all; how many files and folders; how deep imports and folders of rules go.
LARGEST, _MOST_BYTES = 1 << 16, 1 << 19
_MOST_FILES, _MOST_FOLDERS, _DEEPEST, _LEVELS = 96, 48, 5, 16
_UNREADABLE = (OSError, ValueError, BadInput)


class Reader:
    """Reads files of instructions, each once, as long as there is time and room for it. Only what really
    lies below one of `roots` is read."""

    def __init__(
        self, roots: tuple[str, ...], until: float = float("inf"), most: int = _MOST_FILES
    ) -> None:
        self.read: dict[str, Document] = {}
        self._roots = tuple(root.rstrip("/") + "/" for root in roots if root)
        self._until, self._files, self._folders = until, most, most
        self.is_cut = False  # whether there was more than time or room for it
        self._bytes = _MOST_BYTES * most // _MOST_FILES

    def document(self, path: str) -> Document | None:
        """None where there is none, or it has been read."""
        try:
            posix.stat(path)  # most are not there, and links are dear to follow
            if self._files <= 0 or self._bytes <= 0 or elapsed() >= self._until:
                self.is_cut = True
                return None
            whole = real(path)
            if whole in self.read or not whole.startswith(self._roots):
                return None
            data = files.read(whole, LARGEST)
        except _UNREADABLE:
            return None
        self._files -= 1
        self._bytes -= len(data)
        made = self.read[whole] = Document(data.decode("utf-8", "replace"))
        return made

    def rules(self, path: str, depth: int = 0) -> list[Rule]:
        """Of a file and of what it imports."""
        made = self.document(path)
        return self.rules_of(made, path, depth) if made else []

    def rules_of(self, made: Document, path: str, depth: int = 0) -> list[Rule]:
        found = made.rules(path)
        folder = path.rpartition("/")[0]
        for named in made.imports() if depth < _DEEPEST else ():
            if named[0] != "~":  # outside of the project: the client asks before it reads those
                found += self.rules(named if named[0] == "/" else f"{folder}/{named}", depth + 1)
        return found

    def every(self, folder: str, depth: int = 0) -> list[str]:
        """The paths of all files of rules below a folder."""
        found = []
        try:
            names = sorted(posix.listdir(folder))[: 2 * _MOST_FILES]
        except _UNREADABLE:
            return []
        self._folders -= 1  # links may lead around in circles
        for name in names:
            if name.endswith(".md"):
                found.append(f"{folder}/{name}")
            elif "." not in name and depth < _DEEPEST and self._folders > 0:
                found += self.every(f"{folder}/{name}", depth + 1)
        return found[:_MOST_FILES]


def agents_md(client_dir: str, project: str, read: str) -> str:
    """What the client's `instruction_files` come to in this project: one that has a CLAUDE.md, or is in a
    folder that has one, has no AGENTS.md for it. The user's own CLAUDE.md does not count."""
    if read != EITHER:
        return read
    places = (f"{up}/{name}" for up in _above(project) for name in NAMES)
    has_own = any(_is_there(path) for path in places if not path.startswith(client_dir + "/"))
    return ONLY_CLAUDE if has_own else EITHER


def names_in(folder: str, read: str) -> tuple[str, ...]:
    """Under which names the client looks for instructions in a folder; `read` as `agents_md` gives it."""
    if read == BOTH:
        return NAMES + AGENTS
    if read != EITHER or any(_is_there(f"{folder}/{name}") for name in NAMES):
        return NAMES
    return AGENTS


def _is_there(path: str) -> bool:
    try:
        return files.is_there(path)
    except (OSError, ValueError):
        return False


def unreloaded(
    client_dir: str, project: str, opened: list[str], seconds: float, read: str = ONLY_CLAUDE
) -> tuple[list[Rule], bool]:
    """(the rules that held before a compaction and that only the conversation knew, whether these are all).
    `opened` are the files that were opened, the newest first; `read`: the client's `instruction_files`."""
    above = _above(project)
    read = agents_md(client_dir, project, read)
    roots = (project, client_dir, *(f"{up}/.claude" for up in above))
    reader = Reader(roots, elapsed() + seconds)
    found = of_project(client_dir, project, reader)
    inside = [path[len(project) + 1 :] for path in opened if path.startswith(project + "/")]
    for folder in _between(inside):
        for name in names_in(f"{project}/{folder}", read):
            found += reader.rules(f"{project}/{folder}/{name}")
        base = f"{project}/{folder}"
        below = [path[len(folder) + 1 :] for path in inside if path.startswith(folder + "/")]
        for path in reader.every(f"{base}/{RULES}"):
            found += _for(reader, path, below, is_told=False)
    for base, folder in (
        (project, client_dir + "/rules"),
        *((up, f"{up}/{RULES}") for up in above),
    ):
        for path in reader.every(folder):
            found += _for(reader, path, [one.removeprefix(base + "/") for one in opened], is_told=True)
    return found, not reader.is_cut


def of_project(client_dir: str, project: str, reader: Reader | None = None) -> list[Rule]:
    """The rules in `projects/<path>/CLAUDE.md` of the client's folder."""
    return (reader or Reader((client_dir,))).rules(cascade(client_dir, project))


def all_of_project(client_dir: str, project: str) -> list[Rule]:
    """All it says, and what it imports; what is no rule has no marker."""
    reader = Reader((client_dir,))
    reader.rules(cascade(client_dir, project))
    return [said for path, made in reader.read.items() for said in made.says(path)]


def cascade(client_dir: str, project: str) -> str:
    return f"{client_dir}/projects/{slug(project)}/CLAUDE.md"


def _for(reader: Reader, path: str, opened: list[str], is_told: bool) -> list[Rule]:
    """Of a file of rules, if it is for one of these. `is_told`: one for all files is told by the client."""
    made = reader.document(path)
    if made is None or (is_told and not made.paths):
        return []
    if made.paths and not any(matches(pattern, one) for pattern in made.paths for one in opened):
        return []
    return reader.rules_of(made, path)


def _between(inside: list[str]) -> list[str]:
    """The folders from below the project down to each file, those of the newest first."""
    found: dict[str, None] = {}
    for path in inside:
        parts = path.split("/")[:-1]
        for depth in range(1, min(len(parts), _LEVELS) + 1):
            found["/".join(parts[:depth])] = None
        if len(found) >= _MOST_FOLDERS:
            break
    return list(found)[:_MOST_FOLDERS]


def _above(project: str) -> list[str]:
    """The project and the folders it is in, without the root of all."""
    found: list[str] = []
    while project.strip("/") and len(found) < _LEVELS:
        found.append(project)
        project = project.rpartition("/")[0]
    return found
