"""Which files belong together: because they changed together, or because of what they are called."""

from heapq import nsmallest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

#: A commit that changes more says nothing about any two of them.
_MOST_AT_ONCE = 50
#: The closest pairs are looked at; of more, the rest is put where there is room. Of very many files each
#: is compared with so many before it.
_MOST_PAIRS, _MOST_BEFORE = 20_000, 500
_LANGUAGES = (
    ("py", "pyi"),
    ("js", "jsx", "mjs", "cjs", "ts", "tsx", "vue", "svelte"),
    ("c", "h", "cc", "cpp", "cxx", "hpp", "hh"),
    ("java", "kt", "kts", "scala", "groovy"),
    ("html", "css", "scss", "less"),
    ("yaml", "yml", "toml", "json", "ini", "cfg"),
    ("md", "rst", "txt", "adoc"),
    ("sh", "bash", "zsh"),
)
_LANGUAGE = {ending: row[0] for row in _LANGUAGES for ending in row}
_SAME_THING, _NEIGHBOURS, _RELATED = 0.5, 0.2, 0.1


def kinship(one: str, other: str) -> float:
    """A test and what it tests, a header and its source; neighbours in one language; a language."""
    folder, _, name = one.rpartition("/")
    its_folder, _, its_name = other.rpartition("/")
    same_language = _language(name) == _language(its_name)
    if same_language and _thing(name) == _thing(its_name):
        return _SAME_THING
    if not same_language:
        return 0.0
    return _NEIGHBOURS if folder == its_folder else _RELATED


def _language(name: str) -> str:
    ending = name.rpartition(".")[2].lower()
    return _LANGUAGE.get(ending, ending)


def _thing(name: str) -> str:
    """What a file is about: its name without ending, and without what says that it is a test."""
    stem = name.split(".", maxsplit=1)[0].lower()
    for word in ("test_", "_test", "-test", "tests_", "_spec", "-spec"):
        stem = stem.removeprefix(word).removesuffix(word)
    return stem


def changed(commits: "list[list[str]]") -> dict[tuple[str, str], float]:
    """Of two files: of the commits that changed either, the share that changed both."""
    single: dict[str, int] = {}
    both: dict[tuple[str, str], int] = {}
    for commit in commits:
        names = sorted(set(commit))
        if len(names) > _MOST_AT_ONCE:
            continue
        for at, name in enumerate(names):
            single[name] = single.get(name, 0) + 1
            for other in names[at + 1 :]:
                both[name, other] = both.get((name, other), 0) + 1
    return {
        pair: times / (single[pair[0]] + single[pair[1]] - times)
        for pair, times in both.items()
        if times > 1  # once is chance
    }


def by_history(shares: "dict[tuple[str, str], float]") -> "Callable[[str, str], float]":
    """How close two files are, with what history says counting most."""

    def near(one: str, other: str) -> float:
        return shares.get((min(one, other), max(one, other)), 0.0) + kinship(one, other)

    return near


def grouped(
    files: "list[str]", fits: "Callable[[list[str]], bool]", near: "Callable[[str, str], float]"
) -> "list[list[str]]":
    """All files in groups that fit, the closest joined first; then what fits beside others goes there. One
    that does not even fit alone is a group, too."""
    names = list(dict.fromkeys(files))
    place = {name: at for at, name in enumerate(names)}
    groups = {at: [name] for at, name in enumerate(names)}
    belongs = dict(enumerate(range(len(names))))
    pairs = (
        (-closeness, earlier, at)
        for at, name in enumerate(names)
        for earlier in range(max(0, at - _MOST_BEFORE), at)
        if (closeness := near(name, names[earlier])) > 0
    )
    for _, earlier, later in nsmallest(_MOST_PAIRS, pairs):
        one, other = belongs[earlier], belongs[later]
        if one != other:
            _join(groups, belongs, one, other, place, fits)
    packed: list[list[str]] = []
    for group in groups.values():
        beside = next((have for have in packed if fits([*have, *group])), None)
        if beside is None:
            packed.append(group)
        else:
            beside += group
    return packed


def _join(
    groups: dict, belongs: dict, one: int, other: int, place: dict, fits: "Callable[[list[str]], bool]"
) -> None:
    both = sorted(groups[one] + groups[other], key=place.__getitem__)
    if not fits(both):
        return
    first, second = min(one, other), max(one, other)
    groups[first] = both
    for name in groups.pop(second):
        belongs[place[name]] = first
