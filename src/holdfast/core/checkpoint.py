"""A checkpoint: a saved, readable account of where work stands, as a Markdown file that proves itself.

YAML frontmatter, then the same sections in the same order, each present even when there is nothing to
say. `sha256` is of the body; `seal` is of everything else in the file and can only be written with the
key in this user's home: that is how our checkpoints are told from a stranger's.
"""

from holdfast.core.digest import seal as sealed
from holdfast.core.digest import sha256_hex
from holdfast.core.jsontext import UNREADABLE, dump, load
from holdfast.core.plain import one_line
from holdfast.errors import Damaged

VERSION = 1
LARGEST = 2 << 20
SECTIONS = (
    "Goal",
    "What Changed",
    "Why Changed",
    "Active Issues",
    "Key Decisions",
    "Standing Instructions",
    "Plan and Workflow",
    "Next Steps",
    "Commands and Tests",
    "Agents",
)
TRIGGERS = ("auto", "manual", "watcher", "commit", "tests", "end")
#: In the order in which they are written.
FIELDS = (
    "id uid created trigger reason project lineage session_id agent_id iteration parent branch commit "
    "used_tokens window summary work verified sha256 version seal"
).split()
#: What those of the first version do not say.
_LATER = ("work",)
_NUMBERS = ("iteration", "used_tokens", "window", "version")
#: Never quoted: what they may hold is known, and people grep for them.
_BARE = ("id", "uid", "created", "trigger", "verified", *_NUMBERS)
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-")
_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
_NOTHING = "_None recorded._"
_FENCE = "---\n"


class Checkpoint:
    """`fields` is the frontmatter, `sections` has the items of each section, without their dashes;
    an item may have further lines."""

    __slots__ = ("body", "fields", "sections")

    def __init__(self, fields: dict, sections: dict[str, list[str]], body: str) -> None:
        self.fields = fields
        self.sections = sections
        self.body = body


def body(sections: dict[str, list[str]]) -> str:
    """The sections as text. Only a section's name ever begins a line with `#`."""
    parts = []
    for name in SECTIONS:
        items = ["- " + item.replace("\n", "\n  ") for item in sections.get(name, ())]
        parts.append(f"\n## {name}\n\n" + "\n".join(items or [_NOTHING]) + "\n")
    return "".join(parts)


def render(fields: dict, text: str, key: bytes) -> bytes:
    """The whole document around a body; `verified`, hash, version and seal are ours to say."""
    told = {**fields, "verified": True, "sha256": sha256_hex(text.encode()), "version": VERSION}
    lines = [f"{name}: {_scalar(name, told[name])}\n" for name in FIELDS[:-1] if name in told]
    head = "".join(lines)
    signed = sealed((head + _FENCE + text).encode(), key)
    return f"{_FENCE}{head}seal: {signed}\n{_FENCE}{text}".encode()


def _scalar(name: str, value: object) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    words = str(value)
    if name in _BARE:
        return words
    plain = (words[:1].isalpha() or words[:1] == "/") and words.strip("/._-")
    if plain and _SAFE.issuperset(words) and words.lower() not in _WORDS:
        return words
    return '"' + "".join(_escaped(letter) for letter in words) + '"'


def _escaped(letter: str) -> str:
    """As JSON and YAML both read it. A path may hold anything, and must come back as it was."""
    if letter in '"\\':
        return "\\" + letter
    if (letter != " " and not one_line(letter)) or letter == "\ufffd" or "\ud800" <= letter <= "\udfff":
        return dump(letter)[1:-1]
    return letter


def parse(data: bytes, where: str) -> Checkpoint:
    """What `render` wrote; Damaged says what is wrong. Whether its hashes fit, `problems` says."""
    try:
        words = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise Damaged(f"{where} is not a checkpoint: it is not UTF-8 ({problem.reason})") from None
    if not words.startswith(_FENCE):
        raise Damaged(f"{where} is not a checkpoint: it does not begin with ---")
    head, found, text = words[len(_FENCE) :].partition("\n" + _FENCE)
    if not found:
        raise Damaged(f"{where} is not a checkpoint: its frontmatter has no end")
    fields: dict = {}
    for line in head.split("\n"):
        name, colon, value = line.partition(": ")
        if not colon or name in fields:
            raise Damaged(f"{where} is not a checkpoint: {name[:40]!r} in its frontmatter")
        fields[name] = _value(name, value, where)
    missing = [name for name in FIELDS if name not in fields and name not in _LATER]
    if missing:
        raise Damaged(f"{where} lacks {', '.join(missing)} in its frontmatter")
    return Checkpoint(fields, _sections(text, where), text)


def _value(name: str, value: str, where: str) -> object:
    if name in _NUMBERS:
        if not (value.isascii() and value.isdecimal() and len(value) < 16):
            raise Damaged(f"{where} has {value[:40]!r} where a number should be ({name})")
        return int(value)
    if name == "verified":
        return value == "true"
    if value.startswith('"'):
        try:
            return load(value)
        except UNREADABLE:
            raise Damaged(f"{where} has a quote without an end ({name})") from None
    return value


def _sections(text: str, where: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    items: list[str] | None = None
    for line in text.split("\n"):
        if line.startswith("## "):
            items = found[line[3:]] = []
        elif items is not None and line.startswith("- "):
            items.append(line[2:])
        elif items and line.startswith("  "):
            items[-1] += "\n" + line[2:]
    if tuple(found) != SECTIONS:
        lacking = [name for name in SECTIONS if name not in found]
        what = f"it lacks ## {lacking[0]}" if lacking else "its sections are not in their order"
        raise Damaged(f"{where} is not a whole checkpoint: {what}")
    return found


def problems(data: bytes, stem: str, made: Checkpoint | None = None) -> list[str]:
    """What keeps these bytes from being the checkpoint named `stem`; [] when it is verified. `made` is
    what they parse to, if that is known already."""
    if len(data) > LARGEST:
        return [f"it has {len(data)} bytes, more than any checkpoint"]
    try:
        made = made or parse(data, "it")
    except Damaged as problem:
        return [str(problem)]
    fields = made.fields
    found = []
    if fields["sha256"] != sha256_hex(made.body.encode()):
        found.append("its text is not what was written: the hash of the body does not fit")
    if fields["id"] != stem:
        found.append(f"it is checkpoint {fields['id']}, under the name {stem}")
    if fields["version"] != VERSION:
        found.append(f"it has version {fields['version']}; this holdfast knows {VERSION}")
    if not _is_time(str(fields["created"])):
        found.append(f"it was created {str(fields['created'])[:40]!r}, which is no time")
    if fields["trigger"] not in TRIGGERS:
        found.append(
            f"its trigger is {str(fields['trigger'])[:40]!r}, which is none of {', '.join(TRIGGERS)}"
        )
    return found


def _is_time(words: str) -> bool:
    shape = "".join("0" if letter in "0123456789" else letter for letter in words)
    return shape == "0000-00-00T00:00:00.000Z"


def is_sealed(data: bytes, key: bytes) -> bool:
    """Whether whoever holds `key` wrote exactly these bytes."""
    head, found, text = data.partition(b"\n---\n")
    lines, _, last = head.removeprefix(b"---\n").rpartition(b"\nseal: ")
    whole = bool(found and key) and data.startswith(b"---\n")
    return whole and last.decode("ascii", "replace") == sealed(lines + b"\n---\n" + text, key)


def diff(old: Checkpoint, new: Checkpoint) -> dict[str, tuple[list[str], list[str]]]:
    """section -> (items gone, items added), only where there is a difference."""
    changed = {}
    for name in SECTIONS:
        before, after = old.sections[name], new.sections[name]
        gone = [item for item in before if item not in after]
        added = [item for item in after if item not in before]
        if gone or added:
            changed[name] = (gone, added)
    return changed
