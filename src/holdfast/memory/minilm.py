"""all-MiniLM-L6-v2 with numpy alone: a small transformer needs no framework."""

from __future__ import annotations

from collections.abc import Sequence

import numpy
from safetensors.numpy import load_file
from tokenizers import Tokenizer

_LAYERS, _HEADS, _LONGEST, _TINY = 6, 12, 256, 1e-12
#: Texts of about the same length at once: what fills them up to the longest is computed for nothing.
_TOGETHER = 32


class Network:
    def __init__(self, folder: str) -> None:
        self._weights = load_file(f"{folder}/model.safetensors")
        self._tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self._tokenizer.enable_truncation(_LONGEST)
        self._tokenizer.no_padding()
        self._joined = [self._projections(f"encoder.layer.{layer}") for layer in range(_LAYERS)]

    def _projections(self, layer: str) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Query, key and value in one product."""
        names = [f"{layer}.attention.self.{part}" for part in ("query", "key", "value")]
        weight = numpy.concatenate([self._weights[f"{name}.weight"] for name in names])
        return weight.T.copy(), numpy.concatenate([self._weights[f"{name}.bias"] for name in names])

    def means(self, texts: Sequence[str]) -> numpy.ndarray:
        """Of each text the mean of what its pieces have become."""
        ids = [found.ids for found in self._tokenizer.encode_batch(list(texts))]
        made = numpy.zeros((len(texts), 384), dtype=numpy.float32)
        order = sorted(range(len(ids)), key=lambda at: len(ids[at]))
        for start in range(0, len(order), _TOGETHER):
            some = order[start : start + _TOGETHER]
            made[some] = self._forward([ids[at] for at in some])
        return made

    def _forward(self, rows: list[list[int]]) -> numpy.ndarray:
        longest = max(map(len, rows))
        ids = numpy.array([row + [0] * (longest - len(row)) for row in rows])
        there = numpy.array(
            [[1.0] * len(row) + [0.0] * (longest - len(row)) for row in rows], numpy.float32
        )
        hidden = (
            self._weights["embeddings.word_embeddings.weight"][ids]
            + self._weights["embeddings.position_embeddings.weight"][:longest]
            + self._weights["embeddings.token_type_embeddings.weight"][0]
        )
        hidden = self._normal(hidden, "embeddings.LayerNorm")
        hides = (there[:, None, None, :] - 1.0) * 1e9
        for layer in range(_LAYERS):
            hidden = self._layer(layer, hidden, hides)
        return numpy.asarray((hidden * there[:, :, None]).sum(1) / there.sum(1, keepdims=True))

    def _layer(self, number: int, hidden: numpy.ndarray, hides: numpy.ndarray) -> numpy.ndarray:
        name = f"encoder.layer.{number}"
        count, longest, size = hidden.shape
        weight, bias = self._joined[number]
        every = (hidden.reshape(-1, size) @ weight + bias).reshape(count, longest, 3, _HEADS, -1)
        query, key, value = every.transpose(2, 0, 3, 1, 4)
        fits = query @ key.transpose(0, 1, 3, 2) / numpy.float32((size / _HEADS) ** 0.5) + hides
        fits = numpy.exp(fits - fits.max(-1, keepdims=True))
        seen = (fits / fits.sum(-1, keepdims=True)) @ value
        seen = seen.transpose(0, 2, 1, 3).reshape(count, longest, size)
        hidden = self._normal(
            hidden + self._linear(seen, f"{name}.attention.output.dense"),
            f"{name}.attention.output.LayerNorm",
        )
        wide = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
        return self._normal(hidden + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _linear(self, hidden: numpy.ndarray, name: str) -> numpy.ndarray:
        weight, bias = self._weights[f"{name}.weight"], self._weights[f"{name}.bias"]
        made = hidden.reshape(-1, hidden.shape[-1]) @ weight.T + bias
        return made.reshape(*hidden.shape[:-1], -1)  # type: ignore[no-any-return]

    def _normal(self, hidden: numpy.ndarray, name: str) -> numpy.ndarray:
        hidden = hidden - hidden.mean(-1, keepdims=True)
        spread = numpy.sqrt((hidden * hidden).mean(-1, keepdims=True) + _TINY)
        made = hidden / spread * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]
        return made.astype(numpy.float32)  # type: ignore[no-any-return]


def _gelu(x: numpy.ndarray) -> numpy.ndarray:
    """x times the normal distribution, whose erf numpy lacks: Abramowitz and Stegun 7.1.26, to 1.5e-7."""
    half = numpy.abs(x) * numpy.float32(0.7071067811865476)
    t = 1 / (1 + numpy.float32(0.3275911) * half)
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    erf = numpy.sign(x) * (1 - poly * numpy.exp(-half * half))
    return numpy.asarray(0.5 * x * (1 + erf), dtype=numpy.float32)
