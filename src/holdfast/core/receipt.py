"""The survival receipt: what a compaction's summary kept of a checkpoint, item by item.

Kept is what stands close together in the summary, by its identifiers, values and words; no model is
asked. The rest is lost, or contradicted where the summary says something else in its place. Whoever reads
it should know what it cannot do: a paraphrase in other words, or in another language, counts as lost.
"""

from holdfast.core.altered import Sentences, explained
from holdfast.core.altered import instead as said_instead
from holdfast.core.ascribed import claims, sentences
from holdfast.core.checkpoint import SECTIONS
from holdfast.core.claims import Typed, unsupported
from holdfast.core.disputes import Summary, all_pass, opposite, passed_instead
from holdfast.core.plain import excerpt, one_line
from holdfast.core.terms import VALUE, WEIGHTS, Lexicon, Places, tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast.core.terms import Term

#: One for each of SECTIONS.
CLASSES = (
    "goal",
    "change",
    "reason",
    "issue",
    "decision",
    "instruction",
    "plan",
    "next",
    "command",
    "agent",
)
#: An item is kept when this much of what it says stands in one place: chosen by bench/receipt.py.
KEPT = 0.5
#: Of a change, the file and a little of what is new in it is enough: no summary repeats every line.
_KEPT_CHANGE = 0.4
#: Of one that hardly says anything, nearly all: `push it` is not kept by a word of it.
_LITTLE, _KEPT_LITTLE = 3.5, 0.8
#: What an item is worth when none of its numbers is anywhere in the summary.
_WITHOUT_VALUES = 0.75
#: How much is judged of a summary (the longest seen has 25,000 characters), of an item, and how many.
LARGEST, _ITEM, _ITEMS = 65_536, 1_200, 600
_LISTED, _CLAIMS = 40, 12
#: Characters of what was typed last that may explain a change.
_LINES = 40_000
_SHOWN, _SHOWN_INSTEAD = 240, 120
_CHARACTERS_PER_TOKEN = 3.5
_PLANNED = ("goal", "decision", "instruction", "plan", "next")
#: What is worth being said again, the most important first; the rest stands in the checkpoint.
_AGAIN = ("instruction", "decision", "issue", "goal", "next")
_MARKS = ("[ ] ", "[x] ", "Then: ", "Go on from: ", "Test run: ")


class _Item:
    __slots__ = ("kind", "said", "terms", "text", "words")

    def __init__(self, kind: str, text: str, lexicon: Lexicon) -> None:
        self.kind = kind
        self.text = text
        self.said = said_by(text, kind)
        self.words = tokens(self.said)
        self.terms = lexicon.made_of(self.words)


class Verdict:
    """What a summary kept of a checkpoint's items, judged once. `typed` is all a person said: prompts,
    answers to questions, words with a refusal; `whole`: nothing of it is missing."""

    def __init__(
        self, sections: dict[str, list[str]], summary: str, typed: list[str], whole: bool = True
    ) -> None:
        self.text = reaching(summary)
        self.lexicon = lexicon = Lexicon()
        places = Places(self.text[:LARGEST], lexicon)
        said = sentences(self.text[:LARGEST])
        items = self.items = _items(sections, lexicon)
        known = Typed(typed, [item.said for item in items if item.kind in _PLANNED], whole)
        judge = _Judge(Summary(said), items, known)
        self.kept: list[_Item] = []
        self.lost: list[_Item] = []
        self.contradicted: list[tuple[_Item, str]] = []
        for item in items:
            instead = judge.contradiction(item)
            if instead:
                self.contradicted.append((item, instead))
            else:
                is_kept = keeps(places, item.terms, len(item.words), item.kind)
                (self.kept if is_kept else self.lost).append(item)
        self.invented = unsupported(claims(self.text[:LARGEST]), known, lexicon)

    def receipt(self) -> dict:
        """Lists are capped, counts are not; `unjudged` are the characters of the summary beyond what is
        looked at."""
        recall: dict[str, list[int]] = {}
        for item in self.items:
            recall.setdefault(item.kind, [0, 0])[1] += 1
        for item in self.kept:
            recall[item.kind][0] += 1
        return {
            "items": len(self.items),
            "kept": len(self.kept),
            "lost": len(self.lost),
            "contradicted": len(self.contradicted),
            "recall": recall,
            "lost_items": [[item.kind, excerpt(item.text, _SHOWN)] for item in self.lost[:_LISTED]],
            "contradicted_items": [
                [item.kind, excerpt(item.text, _SHOWN), excerpt(instead, _SHOWN)]
                for item, instead in self.contradicted[:_LISTED]
            ],
            "invented": [excerpt(sentence, _SHOWN) for sentence in self.invented[:_CLAIMS]],
            "tokens": int(len(self.text) / _CHARACTERS_PER_TOKEN),
            "unjudged": max(0, len(self.text) - LARGEST),
        }

    def lost_for_good(self, beside: str) -> list[str]:
        """What was changed or lost, is worth being said again, and does not stand in `beside` either; the
        most important first."""
        places = Places(beside, self.lexicon)
        wrong = [
            f"{excerpt(item.text, _SHOWN)} – not as in the summary: {excerpt(instead, _SHOWN_INSTEAD)}"
            for item, instead in self.contradicted
        ]
        return wrong + [
            excerpt(item.text, _SHOWN)
            for kind in _AGAIN
            for item in self.lost
            if item.kind == kind and not keeps(places, item.terms, len(item.words), kind)
        ]

    def stands_in(self, beside: str) -> int:
        """How many of the lost items a brief holds."""
        places = Places(beside, self.lexicon)
        return sum(keeps(places, item.terms, len(item.words), item.kind) for item in self.lost)


def score(sections: dict[str, list[str]], summary: str, typed: list[str], whole: bool = True) -> dict:
    """What `summary` (PostCompact's `compact_summary`) kept of a checkpoint's sections."""
    return Verdict(sections, summary, typed, whole).receipt()


def keeps(places: Places, terms: "dict[str, Term]", length: int, kind: str = "") -> bool:
    """Whether a text says what an item of `length` tokens says."""
    enough = _KEPT_CHANGE if kind == "change" else KEPT
    if len(terms) <= _LITTLE and sum(WEIGHTS[term[0]] for term in terms.values()) < _LITTLE:
        enough = _KEPT_LITTLE
    values = [term for term in terms.values() if term[0] == VALUE and term[1][0].isdecimal()]
    if values and not any(term in places for term in values):
        enough /= _WITHOUT_VALUES
    return places.best(terms, length)[0] >= enough


def reaching(summary: str) -> str:
    """The part of the reply that reaches the model: the client takes the first analysis out, and the
    summary's tags."""
    before, opened, rest = summary.partition("<analysis>")
    _, closed, after = rest.partition("</analysis>")
    text = before + after if opened and closed else summary
    return text.replace("<summary>", "", 1).replace("</summary>", "", 1).strip()


def _items(sections: dict[str, list[str]], lexicon: Lexicon) -> list[_Item]:
    """Without those that say nothing."""
    found = []
    for kind, name in zip(CLASSES, SECTIONS, strict=True):
        found += [_Item(kind, text, lexicon) for text in sections.get(name, ())[: _ITEMS // len(CLASSES)]]
    return [item for item in found if item.terms]


def said_by(item: str, kind: str = "") -> str:
    """What an item says, without where it was said and the marks of its section."""
    words = item[:_ITEM]
    for mark in _MARKS:
        words = words.removeprefix(mark)
    if words.endswith(")"):
        head, _, tail = words.rpartition(" (")
        if tail.startswith(("turn ", "entry ", "told to a hook", "the client's own")):
            words = head
    if kind == "plan" and words.startswith("Plan (") and "\n" in words:
        words = words.partition("\n")[2]
    if kind == "change":  # the file and the line that is new; not how many lines
        head, found, what = words.partition("] - ")
        what = "" if what.startswith(("written, ", "changed (")) else what.rpartition(" (+")[0] or what
        return f"{head.rpartition(':')[0]} {what}" if found else words
    head, found, tail = words.partition("): ")
    if found and (kind == "agent" or head.startswith(("Task ", "To do ("))):
        words = tail
    return words


class _Judge:
    def __init__(self, summary: Summary, items: list[_Item], known: Typed) -> None:
        self.summary = summary
        self.sentences = Sentences(summary.said)
        self.items = items
        self._others: Sentences | None = None
        self.known = known
        runs = [
            item.text for item in items if item.kind == "command" and item.text.startswith("Test run: ")
        ]
        self.failing = runs[-1] if runs and all(" → exit 0" not in run for run in runs) else ""

    def contradiction(self, item: _Item) -> str:
        """What the summary says instead, or ""."""
        if item.kind in ("command", "issue"):
            found = passed_instead(item.said, self.summary)
            found = found or (all_pass(self.summary) if item.text == self.failing else "")
            return found or (self._altered(item) if item.kind == "issue" else "")
        if item.kind == "change":
            return ""
        found = self._altered(item)
        if not found and item.kind in ("instruction", "decision", "goal"):
            found = opposite(item.said, self.summary, self.known)
        return found

    def _altered(self, item: _Item) -> str:
        """The sentence that says the item with something changed, unless another item or what was typed
        says so, too: then it was changed later, or taken back."""
        said = self.sentences.of(item.said)
        found = said_instead(said, self.sentences)
        if found is None:
            return ""
        if self._others is None:
            lines = [line for line in self.known.low[-_LINES:].split("\n") if line.strip()]
            self._others = Sentences([*(other.said for other in self.items), *lines])
        return "" if explained(said, found[1], self._others) else self.summary.said[found[0]]


def in_words(receipt: dict) -> str:
    """The score, the same wherever people see it."""
    return (
        f"{receipt['kept']} of {receipt['items']} items kept, {receipt['lost']} lost, "
        f"{receipt['contradicted']} contradicted"
    )


def render(receipt: dict) -> str:
    """As people see it."""
    lines = [f"{in_words(receipt)}; the summary has {receipt['tokens']:,} tokens"]
    if receipt["unjudged"]:
        lines.append(f"! its last {receipt['unjudged']:,} characters were not judged")
    lines += ["", f"{'':<12} kept  of"]
    lines += [
        f"{kind:<12} {kept:>4} {of:>3}  {_bar(kept, of)}" for kind, (kept, of) in receipt["recall"].items()
    ]
    for kind, item, instead in receipt["contradicted_items"]:
        lines += ["", f"contradicted {kind}: {one_line(item)}", f"  the summary: {one_line(instead)}"]
    if receipt["lost_items"]:
        lines += ["", "lost"]
        lines += [f"  {kind:<11} {one_line(item)}" for kind, item in receipt["lost_items"]]
        more = receipt["lost"] - len(receipt["lost_items"])
        lines += [f"  … and {more} more"] if more else []
    if receipt["invented"]:
        lines += ["", "said to be the user's words, and nobody typed them"]
        lines += [f"  {one_line(sentence)}" for sentence in receipt["invented"]]
    return "\n".join(lines)


def _bar(kept: int, of: int) -> str:
    full = round(10 * kept / of)
    return "█" * full + "─" * (10 - full)
