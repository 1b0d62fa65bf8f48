"""`decoder`: GPT-2 and Transformer-XL language models whose layers may differ (Javaheripi et al. 2022, section 3)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from secateur.architecture import Architecture, digest
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces import decoder_counts as counts
from secateur.spaces.decoder_options import Allowed, canonical, nearest, nearest_pair, table
from secateur.spaces.decoder_sizes import Sizes
from secateur.spaces.domains import Options, Range
from secateur.spaces.product import ProductSpace, chosen

#: The ranges of the paper, for `Decoder(backbone, **PAPER)`; they are the defaults.
PAPER: dict[str, Any] = {
    "layers": "2..16",
    "width": "128..1024:64",
    "inner": "256..4096:64",
    "heads": (2, 4, 8),
    "embedding": (128, 256, 512),
    "factor": (4,),
}
#: Models of 300 to 500 million parameters with a vocabulary of about 50,000, by our own choice: the paper's ranges for them are
#: not published with it.
LARGE: dict[str, Any] = {
    "layers": "16..32",
    "width": "896..1280:64",
    "inner": "1792..6144:128",
    "heads": (8, 16, 32),
    "embedding": (256, 512, 1024),
    "factor": (4,),
}

#: Columns of a vector: these four, then the heads of each layer, then the inner widths of each layer.
LAYERS, WIDTH, EMBEDDING, FACTOR, FIRST = range(5)


def architecture(
    backbone: str, width: int, heads: Sequence[int], inner: Sequence[int], embedding: int = 0, factor: int = 1
) -> Architecture:
    """The architecture of these choices, whatever the bounds of a space; one table as wide as the model is written as plain."""
    embedding, factor = canonical(width, embedding, factor)
    choices = {
        "backbone": backbone,
        "width": int(width),
        "heads": [int(h) for h in heads],
        "inner": [int(i) for i in inner],
        "embedding": int(embedding),
        "factor": int(factor),
    }
    return Architecture.of("decoder", choices, digest("decoder", json.dumps(choices, separators=(",", ":"))))


class Decoder(ProductSpace):
    """Layers, width, adaptive embedding, and for each layer its heads and inner width: inner ≥ 2 × width, heads divide it.

    A vector (D,) holds layers, width, embedding, factor, the heads of each layer, the inner widths of each layer: the values
    themselves, 0 for layers that are not there. With `homogeneous`, all layers are equal, and a vector has heads and inner
    width once; architectures are spelt as in the heterogeneous space. `domains` are the positions of the values in `options`.
    """

    name = "decoder"

    def __init__(
        self,
        backbone: str = "gpt2",
        *,
        layers: Options = PAPER["layers"],
        width: Options = PAPER["width"],
        inner: Options = PAPER["inner"],
        heads: Options = PAPER["heads"],
        embedding: Options = PAPER["embedding"],
        factor: Options = PAPER["factor"],
        homogeneous: bool = False,
    ) -> None:
        allowed = Allowed.of(backbone, layers, width, inner, heads, embedding, factor)
        self.backbone = backbone
        self.homogeneous = homogeneous
        self.allowed = allowed
        self._slots = 1 if homogeneous else allowed.layers[-1]
        #: The values of each dimension, ascending.
        self.options = allowed.columns(self._slots)
        super().__init__([Range(0, len(o) - 1) for o in self.options])
        self._heads = slice(FIRST, FIRST + self._slots)
        self._inner = slice(FIRST + self._slots, FIRST + 2 * self._slots)
        self._head_table, self._head_counts = table([allowed.heads_of[w] for w in allowed.width])
        self._inner_from = np.array([allowed.inner_from[w] for w in allowed.width])

    # Architectures and vectors.

    def from_values(self, values: np.ndarray) -> Architecture:
        layers = int(values[LAYERS])
        heads, inner = values[self._heads].tolist(), values[self._inner].tolist()
        heads, inner = (heads * layers, inner * layers) if self.homogeneous else (heads[:layers], inner[:layers])
        return architecture(self.backbone, int(values[WIDTH]), heads, inner, int(values[EMBEDDING]), int(values[FACTOR]))

    def values(self, architecture: Architecture) -> np.ndarray:
        return self._values_of(dict(architecture.choices))

    def _values_of(self, choices: Mapping[str, Any]) -> np.ndarray:
        """Raises ValueError, KeyError or TypeError where the choices are not even of the right form."""
        if choices["backbone"] != self.backbone:
            raise ValueError(f"its backbone is `{choices['backbone']}`, the space's is `{self.backbone}`")
        heads, inner = list(choices["heads"]), list(choices["inner"])
        layers = len(heads)
        if len(inner) != layers:
            raise ValueError(f"it has {layers} values of `heads` and {len(inner)} of `inner`")
        if not 1 <= layers <= self.allowed.layers[-1]:
            raise ValueError(f"it has {layers} layers, the space at most {self.allowed.layers[-1]}")
        width = choices["width"]
        given = [width, choices["embedding"], choices["factor"], *heads, *inner]
        if not all(isinstance(v, int) and not isinstance(v, bool) for v in given):
            raise ValueError("everything except the backbone must be whole numbers")
        if self.homogeneous and (len(set(heads)) > 1 or len(set(inner)) > 1):
            raise ValueError("its layers differ, and the space is homogeneous")
        out = np.zeros(self.dimensions, dtype=np.int64)
        out[[LAYERS, WIDTH]] = layers, width
        out[[EMBEDDING, FACTOR]] = canonical(width, choices["embedding"], choices["factor"])
        used = min(layers, self._slots)
        out[self._heads][:used], out[self._inner][:used] = heads[:used], inner[:used]
        return out

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            values = self._values_of(choices)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"`{dict(choices)}` is not an architecture of the space `{self.name}`: {error}."
            ) from error
        if not self.contains_values(values):
            raise ConfigurationError(f"`{dict(choices)}` is outside the bounds of the space `{self.name}`.")
        return self.from_values(values)

    def contains_values(self, values: np.ndarray) -> bool:
        if values.shape != (self.dimensions,) or values[WIDTH] not in self.allowed.width:
            return False
        return values[LAYERS] in self.allowed.layers and np.array_equal(self._repaired(values), values)

    def indices(self, architecture: Architecture) -> np.ndarray:
        return np.asarray(self._positions(self.values(architecture)[None])[0])

    def choices_read(self) -> list[tuple[int, tuple[int, ...]]]:
        """Layer after layer: what is absent stands at the end."""
        layers = np.arange(self._heads.start, self._heads.stop)
        order = [*range(FIRST), *np.stack([layers, layers + self._slots], axis=1).ravel().tolist()]
        return [(d, tuple(self.options[d])) for d in order]

    def active(self, architecture: Architecture) -> np.ndarray:
        """All but those of layers that are not there."""
        out = np.ones(self.dimensions, dtype=bool)
        used = self._used(self.values(architecture))
        out[self._heads][used:] = False
        out[self._inner][used:] = False
        return out

    def costs(self, architectures: Sequence[Architecture]) -> np.ndarray:
        """Decoder parameters."""
        return np.array([[counts.decoder_parameters(a)] for a in architectures], dtype=np.float64).reshape(-1, 1)

    def from_indices(self, indices: np.ndarray) -> Architecture:
        """The architecture of positions (D,), repaired where they do not go together: every vector of positions is one."""
        values = np.array([o[int(i)] for o, i in zip(self.options, indices, strict=True)], dtype=np.int64)
        return self.from_values(self._repaired(values))

    def _positions(self, values: np.ndarray) -> np.ndarray:
        """Vectors (n, D) as positions (n, D) of the values in `options`; 0 for layers that are not there."""
        return np.stack([np.searchsorted(o, values[:, d]) for d, o in enumerate(self.options)], axis=1)

    def _encoded(self, values: np.ndarray) -> np.ndarray:
        positions = self._positions(np.atleast_2d(values)) / np.maximum(self._count - 1, 1)
        return np.asarray(positions.reshape(values.shape))

    def _repaired(self, values: np.ndarray) -> np.ndarray:
        """A copy in which what does not go with the width has become the nearest that does, and absent layers are 0."""
        allowed, out = self.allowed, values.copy()
        width, used = int(values[WIDTH]), self._used(values)
        inner, heads = allowed.inner_of[width], allowed.heads_of[width]
        out[self._heads][used:] = 0
        out[self._inner][used:] = 0
        out[self._heads][:used] = [nearest(v, heads) for v in values[self._heads][:used].tolist()]
        out[self._inner][:used] = [nearest(v, inner) for v in values[self._inner][:used].tolist()]
        out[[EMBEDDING, FACTOR]] = nearest_pair(width, (int(values[EMBEDDING]), int(values[FACTOR])), allowed.pairs_of[width])
        return out

    def _used(self, values: np.ndarray) -> int:
        """How many of the places for layers a vector fills."""
        return 1 if self.homogeneous else int(values[LAYERS])

    # Moves.

    def sample_values(self, n: int, rng: Generator) -> np.ndarray:
        """`n` vectors (n, D): layers, width, embedding and factor uniform, then each layer's heads and inner width uniform
        over what the width allows."""
        allowed = self.allowed
        out = np.zeros((n, self.dimensions), dtype=np.int64)
        out[:, LAYERS] = np.array(allowed.layers)[rng.integers(0, len(allowed.layers), size=n)]
        w = rng.integers(0, len(allowed.width), size=n)
        out[:, WIDTH] = np.array(allowed.width)[w]
        out[:, EMBEDDING] = np.array(allowed.embedding)[rng.integers(0, len(allowed.embedding), size=n)]
        out[:, FACTOR] = np.array(allowed.factor)[rng.integers(0, len(allowed.factor), size=n)]
        plain = (out[:, EMBEDDING] == 0) | ((out[:, EMBEDDING] == out[:, WIDTH]) & (out[:, FACTOR] == 1))
        out[plain, EMBEDDING], out[plain, FACTOR] = 0, 1
        w = w[:, None]
        shape = (n, self._slots)
        heads = self._head_table[w, rng.integers(0, self._head_counts[w], size=shape)]
        inner = np.array(allowed.inner)[rng.integers(self._inner_from[w], len(allowed.inner), size=shape)]
        there = np.arange(self._slots) < out[:, [LAYERS]]
        out[:, self._heads], out[:, self._inner] = heads * there, inner * there
        return out

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """One active dimension gets a new value, or each with the probability. New layers are drawn at random; heads, inner
        widths and embedding that do not go with a new width become the nearest that do."""
        values = self.values(architecture)
        active = self._active(values)
        if len(active) == 0:
            return architecture
        for d in sorted(chosen(active, rng, probability).tolist(), key=lambda d: (d != WIDTH, d)):
            others = self._others(values, d)  # a new width or depth may have left none
            if others:
                values = self._changed(values, d, others[int(rng.integers(len(others)))], rng)
        return self.from_values(values)

    def _active(self, values: np.ndarray) -> np.ndarray:
        """The dimensions that have another value to take."""
        width, used = int(values[WIDTH]), self._used(values)
        found = [d for d in (LAYERS, WIDTH, EMBEDDING, FACTOR) if self._others(values, d)]
        if len(self.allowed.heads_of[width]) > 1:
            found += range(self._heads.start, self._heads.start + used)
        if len(self.allowed.inner_of[width]) > 1:
            found += range(self._inner.start, self._inner.start + used)
        return np.array(found, dtype=np.int64)

    def _others(self, values: np.ndarray, d: int) -> tuple[int, ...]:
        """The other values that dimension `d` may take; none where it is not active."""
        allowed, width, now = self.allowed, int(values[WIDTH]), int(values[d])
        if d == LAYERS:
            found: Sequence[int] = allowed.layers
        elif d == WIDTH:
            found = allowed.width
        elif d == EMBEDDING:
            found = sorted({e for e, _ in allowed.pairs_of[width]})
        elif d == FACTOR:
            found = self._factors(width, int(values[EMBEDDING]))
        elif (d - FIRST) % self._slots >= self._used(values):
            found = ()
        else:
            found = (allowed.heads_of if d < self._inner.start else allowed.inner_of)[width]
        return tuple(v for v in found if v != now)

    def _factors(self, width: int, embedding: int) -> list[int]:
        return [k for e, k in self.allowed.pairs_of[width] if e == embedding]

    def _embedding(self, values: np.ndarray) -> int:
        """The embedding to keep with another width: where plain is no option, 0 only says that the table is as wide as the
        model."""
        plain = 0 if 0 in self.allowed.embedding else int(values[WIDTH])
        return int(values[EMBEDDING]) or plain

    def _changed(self, values: np.ndarray, d: int, new: int, rng: Generator) -> np.ndarray:
        """A copy with another value in one dimension and what follows from it."""
        out = values.copy()
        out[d] = new
        width, embedding = int(values[WIDTH]), int(values[EMBEDDING])
        if d == WIDTH:
            out[EMBEDDING] = self._embedding(values)
            return self._repaired(out)
        if d == EMBEDDING:
            factors = self._factors(width, new)
            if embedding == 0 or values[FACTOR] not in factors:  # a plain table has no factor to keep
                out[FACTOR] = factors[int(rng.integers(len(factors)))]
        if d == LAYERS:
            fresh = slice(self._used(values), self._used(out))
            heads, inner = np.array(self.allowed.heads_of[width]), np.array(self.allowed.inner_of[width])
            size = max(fresh.stop - fresh.start, 0)
            out[self._heads][fresh], out[self._inner][fresh] = rng.choice(heads, size), rng.choice(inner, size)
            return self._repaired(out)
        return out

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        """Each dimension from either parent, a layer's from one that has it; then repaired."""
        x, y = self.values(a), self.values(b)
        x[EMBEDDING], y[EMBEDDING] = self._embedding(x), self._embedding(y)
        out = np.where(rng.random(self.dimensions) < 0.5, x, y)
        out[FIRST:] = np.where(out[FIRST:] == 0, np.maximum(x, y)[FIRST:], out[FIRST:])
        return self.from_values(self._repaired(out))

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        """Every architecture that differs in one active dimension; where layers are added, they repeat the last one."""
        values = self.values(architecture)
        width, embedding = int(values[WIDTH]), int(values[EMBEDDING])
        for d in range(self.dimensions):
            for new in self._others(values, d):
                out = values.copy()
                out[d] = new
                if d == LAYERS and self._used(out) > self._used(values):
                    last = self._used(values) - 1
                    for part in (self._heads, self._inner):
                        out[part][last : self._used(out)] = values[part][last]
                if d == WIDTH:
                    out[EMBEDDING] = self._embedding(values)
                if d == EMBEDDING:
                    factors = self._factors(width, new)
                    kept = [int(values[FACTOR])] if embedding and values[FACTOR] in factors else factors
                    for factor in kept:
                        out[FACTOR] = factor
                        yield self.from_values(out)
                else:
                    yield self.from_values(self._repaired(out))

    def smallest(self) -> Architecture:
        return self._corner(0)

    def largest(self) -> Architecture:
        return self._corner(-1)

    def start(self, rng: Generator) -> Architecture:
        return self.largest()

    def smallest_of_each(self) -> list[Architecture]:
        """For every width and embedding the network with the least of all else. One of them has the least peak memory."""
        return [self._with(width, pair, 0) for width in self.allowed.width for pair in self.allowed.pairs_of[width]]

    def _corner(self, end: int) -> Architecture:
        """The least or most of everything; of embeddings, the one with the least or most in its tables."""
        width = self.allowed.width[end]
        pair = sorted(self.allowed.pairs_of[width], key=lambda p: (p[0] or width, -p[1]))[end]
        return self._with(width, pair, end)

    def _with(self, width: int, pair: tuple[int, int], end: int) -> Architecture:
        """The network of this width and embedding with the least or most layers, heads and inner width."""
        layers = self.allowed.layers[end]
        heads, inner = self.allowed.heads_of[width][end], self.allowed.inner_of[width][end]
        return architecture(self.backbone, width, [heads] * layers, [inner] * layers, *pair)

    def size(self, free_widths: bool = False) -> int:
        """How many architectures there are; each is a network of its own.

        With `free_widths`, as the paper seems to count its 10^54: as if each layer had a width of its own, which networks with
        one residual stream cannot have.
        """
        allowed = self.allowed
        kinds = {w: len(allowed.heads_of[w]) * len(allowed.inner_of[w]) for w in allowed.width}
        powers = [1 if self.homogeneous else n for n in allowed.layers]
        if free_widths:
            return int(len(allowed.embedding) * len(allowed.factor) * sum(sum(kinds.values()) ** n for n in powers))
        return int(sum(len(allowed.pairs_of[w]) * sum(kinds[w] ** n for n in powers) for w in allowed.width))

    def every(self) -> Iterator[Architecture]:
        allowed = self.allowed
        for w, n in itertools.product(allowed.width, allowed.layers):
            kinds = list(itertools.product(allowed.heads_of[w], allowed.inner_of[w]))
            for layers in ((k,) * n for k in kinds) if self.homogeneous else itertools.product(kinds, repeat=n):
                for pair in allowed.pairs_of[w]:
                    yield architecture(self.backbone, w, [h for h, _ in layers], [i for _, i in layers], *pair)

    # Costs of many, in closed form.

    def decoder_parameters(self, values: np.ndarray) -> np.ndarray:
        """Decoder parameters (n,) of vectors (n, D)."""
        inner = values[:, self._inner].sum(axis=1) * (values[:, LAYERS] if self.homogeneous else 1)
        return np.asarray(counts.decoder_count(self.backbone, values[:, WIDTH], values[:, LAYERS], inner))

    def parameters(self, values: np.ndarray, sizes: Sizes) -> np.ndarray:
        """All parameters (n,) of vectors (n, D)."""
        total = self.decoder_parameters(values)
        pairs, which = np.unique(values[:, [EMBEDDING, FACTOR]], axis=0, return_inverse=True)
        for number, (embedding, factor) in enumerate(pairs.tolist()):
            rows = which.reshape(-1) == number
            total[rows] += counts.embedding_count(self.backbone, values[rows, WIDTH], embedding, factor, sizes)
        return total
