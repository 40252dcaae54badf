"""A junction tree in flat arrays: potentials on small tables in, exact marginals of those tables out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf, prod

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.errors import UnsupportedError

__all__ = ["Propagation", "Slots"]

Attributes = tuple[int, ...]


class Slots:
    """Tables over sets of attributes, each inside one clique, laid end to end. ``attributes[s]`` is in the axis order
    of slot s, which is that of its clique.
    """

    def __init__(self, attributes: Sequence[Attributes], sizes: Sequence[int], entries: NDArray[np.int64]) -> None:
        self.attributes = tuple(attributes)
        self.shapes = tuple(tuple(sizes[a] for a in slot) for slot in self.attributes)
        self.start = np.concatenate([[0], np.cumsum([prod(shape) for shape in self.shapes])]).astype(np.int64)
        self.entries = entries
        self.place = {frozenset(slot): s for s, slot in enumerate(self.attributes)}

    @property
    def cells(self) -> int:
        """Of all slots."""
        return int(self.start[-1])

    def table(self, values: NDArray[np.float64], slot: int) -> NDArray[np.float64]:
        """The table of a slot (a view)."""
        return values[self.start[slot] : self.start[slot + 1]].reshape(self.shapes[slot])

    def over(self, values: NDArray[np.float64], attributes: Sequence[int]) -> NDArray[np.float64]:
        """The table of the slot over these attributes, in their order (a view)."""
        slot = self.place[frozenset(attributes)]
        order = [self.attributes[slot].index(a) for a in attributes]
        return self.table(values, slot).transpose(order)


class Propagation:
    """Exact inference on one junction tree. Inside a clique the axes go from few values to many, so that inner loops
    are long.
    """

    def __init__(self, tree: CliqueTree, sizes: Sequence[int], *, max_cells: float = inf) -> None:
        self.sizes = tuple(sizes)
        self.tree = tree
        self.cliques = tuple(tuple(sorted(clique, key=lambda a: (sizes[a], a))) for clique in tree.cliques)
        cells = [prod(sizes[a] for a in clique) for clique in self.cliques]
        if sum(cells) > max_cells:
            raise UnsupportedError(
                f"the cliques of this model have {sum(cells):,} cells, over the limit of {max_cells:,.0f}; "
                "use fewer or coarser columns"
            )
        self._start = np.concatenate([[0], np.cumsum(cells)]).astype(np.int64)
        self._parent = np.array(tree.parents, np.int64)
        separators = tree.separators
        widths = [prod(sizes[a] for a in separator) for separator in separators]
        self._separator_start = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        self._own_cell = np.concatenate([self._codes(k, separators[k]) for k in range(len(cells))])
        above = [self._codes(tree.parents[k], separators[k]) if k else np.empty(0, np.int32) for k in range(len(cells))]
        self._parent_cell = np.concatenate(above)
        self._parent_cell_start = np.concatenate([[0], np.cumsum([len(codes) for codes in above])]).astype(np.int64)
        self._message, self._ratio = (np.zeros(int(self._separator_start[-1])) for _ in range(2))
        self._weight, self._probability = (np.zeros(self.cells) for _ in range(2))
        self._home: dict[frozenset[int], int] = {}
        for k in sorted(range(len(cells)), key=lambda k: -cells[k]):
            for a in self.cliques[k]:
                self._home[frozenset((a,))] = k
            for pair in combinations(self.cliques[k], 2):
                self._home[frozenset(pair)] = k

    @property
    def cells(self) -> int:
        """Of all cliques."""
        return int(self._start[-1])

    def home(self, attributes: Sequence[int]) -> int | None:
        """The smallest clique that holds these attributes, if one does."""
        key = frozenset(attributes)
        if key not in self._home and len(key) > 2:
            holders = [k for k, clique in enumerate(self.cliques) if key <= set(clique)]
            if holders:
                self._home[key] = min(holders, key=lambda k: (self._start[k + 1] - self._start[k], k))
        return self._home.get(key)

    def slots(self, wanted: Sequence[Sequence[int]]) -> Slots:
        """Tables over these sets of attributes; each set must be inside a clique."""
        attributes: list[Attributes] = []
        entries: list[tuple[int, ...]] = []
        start = 0
        for members in wanted:
            home = self.home(members)
            if home is None:
                raise ValueError("a table must lie inside a clique")
            slot = tuple(a for a in self.cliques[home] if a in members)
            entries += self._entries(home, slot, start)
            attributes.append(slot)
            start += prod(self.sizes[a] for a in slot)
        return Slots(attributes, self.sizes, np.array(entries, np.int64).reshape(-1, 9))

    def log_weights(self, slots: Slots, potentials: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of every clique cell: the sum of the potentials over it."""
        from privbayes.model.propagation_kernels import add_potentials

        total = np.zeros(self.cells)
        add_potentials(total, slots.entries, potentials)
        return total

    def infer(self, log_weight: NDArray[np.float64]) -> float:
        """Calibrate the cliques to these log weights; returns log Z."""
        from privbayes.model.propagation_kernels import weigh

        return weigh(log_weight, self._start, self._weight) + self._propagate()

    def marginals(self, slots: Slots) -> NDArray[np.float64]:
        """The probabilities of every slot's cells, as calibrated last."""
        from privbayes.model.propagation_kernels import marginalise

        tables = np.empty(slots.cells)
        marginalise(self._probability, slots.entries, tables)
        return tables

    def clique_tables(self) -> list[NDArray[np.float64]]:
        """The probabilities of the cliques as calibrated last, axes ascending as in the tree."""
        tables = []
        for k, clique in enumerate(self.cliques):
            table = self._probability[self._start[k] : self._start[k + 1]].reshape([self.sizes[a] for a in clique])
            tables.append(np.transpose(table, [clique.index(a) for a in self.tree.cliques[k]]).copy())
        return tables

    def given_each_value(
        self, log_weight: NDArray[np.float64], attribute: int, slots: Slots
    ) -> Iterator[NDArray[np.float64]]:
        """For each value of an attribute, the slots' tables given that value (zeros where it cannot be)."""
        from privbayes.model.propagation_kernels import clamp, weigh

        home = self._home[frozenset((attribute,))]
        codes = self._codes(home, (attribute,))
        weigh(log_weight, self._start, self._weight)
        weights = self._weight.copy()
        for code in range(self.sizes[attribute]):
            self._weight[:] = weights
            clamp(self._weight, int(self._start[home]), codes, code)
            yield self.marginals(slots) if self._propagate() > -inf else np.zeros(slots.cells)

    def _propagate(self) -> float:
        from privbayes.model.propagation_kernels import propagate

        return float(
            propagate(
                self._start,
                self._parent,
                self._separator_start,
                self._own_cell,
                self._parent_cell,
                self._parent_cell_start,
                self._weight,
                self._message,
                self._ratio,
                self._probability,
            )
        )

    def _codes(self, k: int, attributes: Sequence[int]) -> NDArray[np.int32]:
        """For every cell of clique k, its cell in the table over some of its attributes (C order)."""
        clique = self.cliques[k]
        codes = np.zeros([self.sizes[a] for a in clique], np.int32)
        for attribute in attributes:
            shape = [1] * len(clique)
            shape[clique.index(attribute)] = self.sizes[attribute]
            codes = codes * np.int32(self.sizes[attribute]) + np.arange(self.sizes[attribute], dtype=np.int32).reshape(
                shape
            )
        return codes.ravel()

    def _entries(self, k: int, slot: Attributes, start: int) -> list[tuple[int, ...]]:
        """The loops of a slot: alternating lengths of what runs along and what belongs to it, neighbours merged. A slot
        of more than three separate parts is cut along its outer ones.
        """
        lengths = [1]
        inside = False
        for attribute in self.cliques[k]:
            if (attribute in slot) == inside:
                lengths[-1] *= self.sizes[attribute]
            else:
                inside = not inside
                lengths.append(self.sizes[attribute])
        if len(lengths) % 2 == 0:
            lengths.append(1)
        return list(_cut(int(self._start[k]), start, lengths))


def _cut(cell: int, start: int, lengths: list[int]) -> Iterator[tuple[int, ...]]:
    if len(lengths) <= 7:
        yield (cell, start, *([1] * (7 - len(lengths))), *lengths)
        return
    along, kept, inner = lengths[0], lengths[1], lengths[2:]
    cells = prod(inner)
    table = prod(inner[1::2])
    for i in range(along * kept):
        yield from _cut(cell + i * cells, start + (i % kept) * table, inner)
