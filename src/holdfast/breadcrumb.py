"""A line in the Obsidian daily note when a session ends, where people look for what they did.

Once per session, by the vault's own settings. The note belongs to whoever has it open: our line is added at
its end, never written over anything, and looked for again afterwards, because an editor that saves at the
same moment may take it away. Loaded only where a vault is configured.
"""

import time

from holdfast.apart import by_a_child
from holdfast.app import Holdfast
from holdfast.books import note
from holdfast.clock import rfc3339
from holdfast.core.events import Event
from holdfast.core.jsontext import UNREADABLE, dump, load, text
from holdfast.core.moment import shown
from holdfast.core.plain import excerpt, one_line
from holdfast.core.state import State
from holdfast.disk import checkpoints, files
from holdfast.disk.folder import Folder
from holdfast.disk.home import user_home
from holdfast.errors import BadInput, Damaged, HoldfastError
from holdfast.material import Ground, redactor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.apart import Leave, Tell

VERSION = 1
_SETTINGS, _LARGEST_SETTINGS, _LARGEST = "daily-notes.json", 1 << 16, 4 << 20
_TRIES, _MOST_PARTS, _LONGEST_PART = 5, 12, 200
_FILE = "/breadcrumb.json"


class Vault:
    """Where a vault keeps its daily notes, and what a new one begins with."""

    __slots__ = ("folder", "format", "root", "template")

    def __init__(self, root: str) -> None:
        self.root = root
        said = self._settings()
        self.folder = text(said, "folder")
        self.format = text(said, "format") or "YYYY-MM-DD"
        self.template = text(said, "template")

    def _settings(self) -> dict:
        try:
            with Folder.open(self.root) as top:
                top.names()  # a vault that is not there is another matter than one without settings
            with Folder.open(self.root, ".obsidian") as folder:
                said = load(folder.read(_SETTINGS, _LARGEST_SETTINGS).decode("utf-8"))
        except FileNotFoundError as problem:
            if problem.filename == self.root:
                raise
            return {}
        except UNREADABLE as problem:
            raise Damaged(f"{self.root}/.obsidian/{_SETTINGS} cannot be read: {problem}") from problem
        return said if type(said) is dict else {}

    def place(self, at: int) -> list[str]:
        """Folders and name of the note of a day."""
        return _parts(f"{self.folder}/{shown(self.format, time.localtime(at / 1000), at)}.md")

    def begun(self, title: str, at: int) -> str:
        """What a new note holds: the template, filled in as Obsidian does."""
        if not self.template:
            return ""
        *folders, name = _parts(self.template if self.template.endswith(".md") else self.template + ".md")
        with Folder.open(self.root, *folders) as folder:
            words = folder.read(name, _LARGEST).decode("utf-8", "replace")
        return _filled(words, title, at)


def leave(event: Event, state: State, app: Holdfast) -> None:
    """Unless it was left already, or nothing was done. What stands in the way is noted."""
    path = app.home.session(state.session) + _FILE
    if state.agent or not (state.seen.turns or state.heard.calls) or _is_there(path):
        return
    root = vault_path(app)
    ground = Ground(state.heard.project, event.cwd)
    line = _line(event, state, app, ground)

    def work(tell: "Tell", leave: "Leave" = dict) -> None:  # noqa: ARG001
        where = put(Vault(root), line, f"%%holdfast {state.session}%%", event.at)
        said = {"v": VERSION, "at": rfc3339(event.at), "note": where}
        files.replace(path, dump(said).encode(), durable=False)
        tell([where])

    try:
        if app.in_hook:
            by_a_child(app, work)
        else:
            work(list)
    except (OSError, HoldfastError) as problem:
        note(app, state, "degraded.breadcrumb", f"no line in the daily note of {root}: {problem}"[:300])


def vault_path(app: Holdfast) -> str:
    given = str(app.config["vault.path"])
    if not given.startswith("~/"):
        return given.rstrip("/")
    return f"{user_home(app.environ)}/{given[2:]}".rstrip("/")


def put(vault: Vault, line: str, mark: str, at: int) -> str:
    """Add a line to the note of the day, made where it is missing; where the note is. `mark` is in the line
    and nowhere else."""
    *folders, name = place = vault.place(at)
    whole = f"{line} {mark}"
    with Folder.make(vault.root, *((folder, 0o755) for folder in folders)) as folder:
        for _ in range(_TRIES):
            try:
                there = folder.read(name, _LARGEST)
            except FileNotFoundError:
                _create(folder, name, vault.begun(name.removesuffix(".md"), at), whole)
                continue
            if mark.encode() in there:
                return "/".join((vault.root, *place))
            if b"\0" in there:
                raise BadInput(f"{folder.path}/{name} is not a text")
            end = "\r\n" if b"\r\n" in there else "\n"
            torn = there and not there.endswith(b"\n")
            folder.append(name, f"{end if torn else ''}{whole}{end}".encode())
    raise HoldfastError(f"{'/'.join(place)} is being written by somebody else again and again")


def _create(folder: Folder, name: str, begun: str, line: str) -> None:
    """Whole or not at all, and never over one that appeared meanwhile."""
    begun += "\n" if begun and not begun.endswith("\n") else ""
    temporary = f".{name}.holdfast.tmp"
    folder.remove(temporary)
    folder.create(temporary, f"{begun}{line}\n".encode(), mode=0o644)
    try:
        folder.publish(temporary, name)
    except FileExistsError:
        folder.remove(temporary)


def _line(event: Event, state: State, app: Holdfast, ground: Ground) -> str:
    """What was done, as the newest checkpoint of this session says it."""
    newest = checkpoints.head(app.home, ground.lineage)
    own = newest if text(newest, "session_id") == state.session else {}
    redact = redactor_of(app, ground.project).text
    where = _inert(redact(ground.project.rpartition("/")[2] or "/"))
    branch = f" on {_inert(excerpt(redact(ground.branch), 80))}" if ground.branch else ""
    about = f": {_inert(text(own, 'summary'))}" if text(own, "summary") else ""
    saved = f", checkpoint {own['id']}" if own else ""
    when = time.strftime("%H:%M", time.localtime(event.at / 1000))
    return f"- {when} **{where}**{branch}{about} (session {state.session[:8]}{saved})"


def _inert(words: str) -> str:
    """Nothing in it links, embeds, tags, comments or runs in the note."""
    words = one_line(words)
    for mark, plain in (
        ("[[", "[ ["),
        ("]]", "] ]"),
        ("](", "] ("),
        ("%%", "% %"),
        ("::", ": :"),
        ("*", "∗"),
    ):
        words = words.replace(mark, plain)
    words = words.replace("<", "‹").replace("`", "'").replace("$", "＄")
    return " ".join(f"\\{word}" if word.startswith("#") else word for word in words.split(" "))


def _filled(words: str, title: str, at: int) -> str:
    """`{{title}}`, `{{date}}`, `{{time}}`, the last two also with a format behind a colon."""
    local = time.localtime(at / 1000)
    usual = {"date": "YYYY-MM-DD", "time": "HH:mm"}
    done, start = "", words.find("{{")
    while start >= 0:
        end = words.find("}}", start)
        if end < 0:
            break
        name, _, pattern = words[start + 2 : end].strip().partition(":")
        name = name.strip().lower()
        if name == "title":
            made = title
        elif name in usual:
            made = shown(pattern.strip() or usual[name], local, at)
        else:
            made = words[start : end + 2]
        done, words = done + words[:start] + made, words[end + 2 :]
        start = words.find("{{")
    return done + words


def _parts(path: str) -> list[str]:
    """Of a path in the vault; one that leads out of it is refused."""
    found = [part for part in path.replace("\\", "/").split("/") if part and part != "."]
    wrong = ".." in found or not found[-1].removesuffix(".md") or len(found) > _MOST_PARTS
    if wrong or any(len(part) > _LONGEST_PART or not part.isprintable() for part in found):
        raise BadInput(f"the vault's settings lead to {path[:200]!r}, which is no place for a note")
    return found


def _is_there(path: str) -> bool:
    try:
        files.read(path, _LARGEST_SETTINGS)
    except FileNotFoundError:
        return False
    except (OSError, BadInput):
        return True  # something is: better no line than many
    return True
