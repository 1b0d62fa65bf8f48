"""`nasbench101`: cells of up to 7 nodes and 9 edges with three operations (Ying et al. 2019)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from secateur.architecture import Architecture
from secateur.errors import ConfigurationError
from secateur.rng import Generator
from secateur.spaces.cells import nasbench101_counts as counts
from secateur.spaces.cells.base import CellSpace
from secateur.spaces.cells.edits import edited, edits
from secateur.spaces.cells.enumeration import kept_keys
from secateur.spaces.cells.frame import Frame
from secateur.spaces.cells.graph import Graph
from secateur.spaces.cells.matrices import Padded, matrix_of, rows_of
from secateur.spaces.cells.official_hash import official_hash
from secateur.spaces.cells.structures import LABELS, Cell, bit, cell, labellings, paths, pruned, structures, targets
from secateur.spaces.domains import Range

#: By label, as the benchmark's hash counts them.
OPERATIONS = ("conv3x3-bn-relu", "conv1x1-bn-relu", "maxpool3x3")
INPUT, OUTPUT = "input", "output"
#: So often a random change or child is drawn again where it lies outside the space.
TRIES = 50
#: What the benchmark has.
MOST_NODES, MOST_EDGES = 7, 9


class NasBench101(CellSpace):
    """Every cell once, spelt as the benchmark spells it: `matrix`, a row of 0 and 1 per node, and `ops`, from input to output.

    `make` takes any spelling: unused nodes are pruned, and of isomorphic graphs the benchmark's own is taken. The key is the
    benchmark's hash. Draws are uniform over the cells.
    """

    name = "nasbench101"
    operations = OPERATIONS

    def __init__(self, nodes: str | Range = "2..7", edges: str | Range = "1..9") -> None:
        self.nodes, self.edges = Range.parse(nodes, "nodes", MOST_NODES), Range.parse(edges, "edges", MOST_EDGES)
        if self.nodes.step > 1 or self.edges.step > 1:
            raise ConfigurationError(f"`nodes` and `edges` take ranges without steps, got {self.nodes} and {self.edges}.")
        if self.nodes.low < 2:
            raise ConfigurationError(f"`nodes` counts input and output, so it must be at least 2, got {self.nodes}.")
        found = [(n, *structures(n, self.edges.low, self.edges.high)) for n in self.nodes.members()]
        self._structures = [(n, bits) for n, all_bits, _ in found for bits in all_bits.tolist()]
        #: How many cells come before each structure's, and in the end all.
        self._before = np.concatenate([[0], np.cumsum(np.concatenate([number for _, _, number in found]))])
        if not self._structures:
            raise ConfigurationError(f"no cell has {self.nodes} nodes and {self.edges} edges.")
        self._padded = Padded(self.nodes.high)

    # Architectures and cells.

    def of_cell(self, cell: Cell) -> Architecture:
        """The architecture of a cell of the space."""
        return self.spelt(cell, official_hash(cell))

    def spelt(self, cell: Cell, key: str) -> Architecture:
        """The architecture of a cell of the space, whose key is known."""
        ops = (INPUT, *(OPERATIONS[label] for label in cell.labels), OUTPUT)
        return Architecture(self.name, (("matrix", rows_of(cell.nodes, cell.bits)), ("ops", ops)), key)

    def cell(self, architecture: Architecture) -> Cell:
        """The cell of an architecture of the space. Raises KeyError, TypeError or ValueError where it has another form."""
        return _cell_of(architecture["matrix"], architecture["ops"])

    def make(self, choices: Mapping[str, Any]) -> Architecture:
        try:
            found = _cell_of(_frozen(choices["matrix"]), tuple(map(str, choices["ops"])))
        except KeyError as missing:
            raise self._refused(f"it has no `{missing.args[0]}`") from None
        except (TypeError, ValueError) as error:
            raise self._refused(str(error)) from None
        fault = self._fault(found)
        if fault:
            raise self._refused(fault)
        return self.of_cell(found)

    def _refused(self, why: str) -> ConfigurationError:
        return ConfigurationError(f"the cell is not one of `{self.name}`: {why}.")

    def _fault(self, of: Cell) -> str:
        """The bound that a cell breaks; empty where it lies in the space."""
        for name, value, allowed in (("nodes", of.nodes, self.nodes), ("edges", of.edges, self.edges)):
            if value not in allowed:
                return f"it has {value} {name} once unused ones are pruned, and {allowed} are allowed"
        return ""

    def contains(self, architecture: Architecture) -> bool:
        if architecture.space != self.name:
            return False
        try:
            found = self.cell(architecture)
        except (KeyError, TypeError, ValueError):
            return False
        # Another spelling of the cell, or a key that is not its own, is no point of the space.
        return not self._fault(found) and self.of_cell(found) == architecture

    # All cells.

    def size(self) -> int:
        return int(self._before[-1])

    def numbered(self, number: int) -> Cell:
        """A cell by its place in the benchmark's order: by nodes, then bits, then labels."""
        place = int(np.searchsorted(self._before, number, side="right")) - 1
        return Cell(*self._structures[place], labellings(*self._structures[place])[number - int(self._before[place])])

    def cells(self) -> Iterator[Cell]:
        """Every cell, in the benchmark's order."""
        for nodes, bits in self._structures:
            for labels in labellings(nodes, bits):
                yield Cell(nodes, bits, labels)

    def keys(self) -> Iterator[str]:
        """The key of every cell, in the benchmark's order. Those of a large space are kept in the user's cache folder."""
        name = f"nasbench101-nodes-{self.nodes.low}-{self.nodes.high}-edges-{self.edges.low}-{self.edges.high}"
        fresh = official_hash.__wrapped__  # each is computed once: nothing to remember
        return kept_keys(name, self.size(), lambda: map(fresh, self.cells()))

    def every(self) -> Iterator[Architecture]:
        """Every cell, in the benchmark's order."""
        return (self.spelt(cell, key) for cell, key in zip(self.cells(), self.keys(), strict=True))

    def sample(self, rng: Generator) -> Architecture:
        return self.of_cell(self.numbered(int(rng.integers(self.size()))))

    def sample_many(self, n: int, rng: Generator) -> list[Architecture]:
        return [self.of_cell(self.numbered(number)) for number in rng.integers(self.size(), size=n).tolist()]

    def smallest(self) -> Architecture:
        return self.of_cell(self.numbered(0))

    def largest(self) -> Architecture:
        """The most nodes, of these the most edges, and 3 × 3 convolutions only."""
        nodes, bits = max(self._structures, key=lambda s: (s[0], s[1].bit_count(), s[1]))
        return self.of_cell(Cell(nodes, bits, (0,) * (nodes - 2)))

    # Moves.

    def neighbours(self, architecture: Architecture) -> Iterator[Architecture]:
        """Every cell that one edit leads to: another operation, an edge or a node more or less."""
        of = self.cell(architecture)
        found = dict.fromkeys(self._inside(edited(of, edit)) for edit in edits(of, self.nodes.high))
        return (self.of_cell(other) for other in found if other not in (None, of))

    def _inside(self, of: Cell | None) -> Cell | None:
        return None if of is None or self._fault(of) else of

    def mutate(self, architecture: Architecture, rng: Generator, probability: float | None = None) -> Architecture:
        """One edit at random; with a probability, every possible edge and operation of the matrix changes with it."""
        of = self.cell(architecture)
        if probability is not None:
            if not 0 < probability <= 1:
                raise ConfigurationError(f"`probability` must be above 0 and at most 1, got {probability}.")
            for _ in range(TRIES):
                found = self._inside(self._flipped(of, rng, probability))
                if found not in (None, of):
                    return self.of_cell(found)
        listed = list(edits(of, self.nodes.high))
        for place in rng.permutation(len(listed)).tolist():
            found = self._inside(edited(of, listed[place]))
            if found not in (None, of):
                return self.of_cell(found)
        return architecture

    def _flipped(self, of: Cell, rng: Generator, probability: float) -> Cell | None:
        edges, labels = self._padded.of(of)
        edges ^= (rng.random(edges.shape) < probability) & self._padded.forward
        new = rng.integers(0, LABELS, size=len(labels))
        other = (labels + 1 + rng.integers(0, LABELS - 1, size=len(labels))) % LABELS
        change = rng.random(len(labels)) < probability
        return self._padded.cell(edges, np.where(labels < 0, new, np.where(change, other, labels)))

    def crossover(self, a: Architecture, b: Architecture, rng: Generator) -> Architecture:
        """Each possible edge and operation of the matrix from either parent; a parent where no child is in the space."""
        (ours, left), (theirs, right) = self._padded.of(self.cell(a)), self._padded.of(self.cell(b))
        for _ in range(TRIES):
            edges = np.where(rng.random(ours.shape) < 0.5, ours, theirs)
            labels = np.where(rng.random(len(left)) < 0.5, left, right)
            found = self._inside(self._padded.cell(edges, np.where(labels < 0, np.maximum(left, right), labels)))
            if found is not None:
                return self.of_cell(found)
        return a if rng.random() < 0.5 else b

    # Views.

    @property
    def dimensions(self) -> int:
        return self._padded.dimensions

    @property
    def counts(self) -> list[int]:
        """Of the choices that spell a cell: the matrix above its diagonal, then a label per inner node."""
        inner = self.nodes.high - 2
        return [2] * (self.dimensions - inner) + [LABELS] * inner

    def indices(self, architecture: Architecture) -> np.ndarray:
        """These choices (d,): −1 for the label of a node that is not there."""
        edges, labels = self._padded.of(self.cell(architecture))
        return np.concatenate([edges[self._padded.forward].astype(np.int64), labels])

    def from_indices(self, indices: np.ndarray) -> Architecture | None:
        """The cell that choices spell; None where it is outside the space."""
        edges = np.zeros_like(self._padded.forward)
        edges[self._padded.forward] = indices[: self.dimensions - self.nodes.high + 2] > 0
        found = self._inside(self._padded.cell(edges, np.maximum(indices[self.dimensions - self.nodes.high + 2 :], 0)))
        return None if found is None else self.of_cell(found)

    def encode(self, architecture: Architecture) -> np.ndarray:
        """The matrix above its diagonal, then a number per inner node: 0 where there is none, a third per label above."""
        return np.asarray(self.encode_many([architecture])[0])

    def encode_many(self, architectures: Sequence[Architecture]) -> np.ndarray:
        return self._padded.encoded([self.cell(a) for a in architectures])

    def graphs(self, architecture: Architecture) -> dict[str, Graph]:
        operations: Any = architecture["ops"]
        return {"cell": Graph(operations, _edges(architecture["matrix"]))}

    def recognised(self, graph: Graph) -> str | None:
        names = graph.operations
        left = pruned(targets(len(names), sum(1 << bit(x, y) for x, y in graph.edges)), names[1:-1])  # type: ignore[arg-type]
        if (names[0], names[-1]) != (INPUT, OUTPUT) or left is None or not set(left[1]) <= set(OPERATIONS):
            return None
        found = self._inside(cell(left[0], [OPERATIONS.index(str(name)) for name in left[1]]))
        return None if found is None else official_hash(found)

    @cached_property
    def frame(self) -> Frame:
        nodes, edges = self.nodes.high, tuple(itertools.combinations(range(self.nodes.high), 2))
        return Frame(
            roles=("cell",),
            nodes=nodes,
            names=(INPUT, *OPERATIONS, OUTPUT),
            edges=edges,
            most_edges=min(self.edges.high, len(edges)),
            chosen=tuple(range(1, nodes - 1)),
            passing=OPERATIONS,
            inputs=(INPUT,),
            lengths=(0, min(nodes - 2, self.edges.high - 1)),
            most_paths=max(paths(*structure) for structure in self._structures),
        )

    def distance(self, a: Architecture, b: Architecture) -> int:
        """The fewest operations changed and edges added or removed, over all ways to pair the nodes of the two."""
        return self._padded.distance(self.cell(a), self.cell(b))

    def parameters(self, architecture: Architecture) -> int:
        return counts.parameters(self.cell(architecture))


def _frozen(matrix: Any) -> Any:
    """A matrix as hashable rows, whatever it came as."""
    return tuple(tuple(row) for row in (matrix.tolist() if isinstance(matrix, np.ndarray) else matrix))


@lru_cache(maxsize=2**13)
def _edges(matrix: Any) -> tuple[tuple[int, int], ...]:
    return tuple((x, y) for x, row in enumerate(matrix) for y, there in enumerate(row) if there)


@lru_cache(maxsize=2**16)
def _cell_of(matrix: Any, ops: Any) -> Cell:
    """The cell of a spelling. Raises ValueError with the rule that it breaks."""
    ahead = matrix_of(matrix, len(ops))
    if len(ops) < 2 or ops[0] != INPUT or ops[-1] != OUTPUT:
        raise ValueError(f"`ops` must begin with `{INPUT}` and end with `{OUTPUT}`")
    for place, name in enumerate(ops[1:-1], 1):
        if name not in OPERATIONS:
            raise ValueError(f"node {place} has the unknown operation `{name}`; known are {', '.join(OPERATIONS)}")
    left = pruned(ahead, [OPERATIONS.index(name) for name in ops[1:-1]])
    if left is None:
        raise ValueError("no path leads from its input to its output")
    if len(left[0]) > MOST_NODES:
        raise ValueError(f"it has {len(left[0])} nodes once unused ones are pruned, and at most {MOST_NODES} are allowed")
    found = cell(*left)
    assert found is not None
    return found
