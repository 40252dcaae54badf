"""What a synthetic table is wanted for: how much each pair of attributes counts, and which triples do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Workload"]

_REST = 0.1  # of pairs outside the sets that were named: they still carry what the named ones are made of


@dataclass(frozen=True, kw_only=True)
class Workload:
    """``columns``: a weight for every attribute; a table counts by the product of its attributes' weights. ``sets``:
    the tables of two or three attributes that are wanted, all pairs alike if empty. ``triples``: whether all triples
    are wanted; ``target``: an attribute whose triples are.
    """

    columns: tuple[float, ...]
    sets: tuple[tuple[int, ...], ...] = ()
    triples: bool = False
    target: int | None = None

    @staticmethod
    def pairs(attributes: int) -> Workload:
        """All pairs alike."""
        return Workload(columns=(1.0,) * attributes)

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """The weight of every pair, symmetric; zero on the diagonal."""
        own = np.array(self.columns)
        matrix: NDArray[np.float64] = np.outer(own, own)
        if self.sets:
            named = np.zeros_like(matrix, np.bool_)
            for wanted in self.sets:
                named[np.ix_(wanted, wanted)] = True
            matrix[~named] *= _REST
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def of_pairs(self, pairs: Iterable[tuple[int, ...]]) -> NDArray[np.float64]:
        """The weights of these pairs."""
        ends = np.array(list(pairs), np.int64).reshape(-1, 2)
        found: NDArray[np.float64] = self.matrix[ends[:, 0], ends[:, 1]]
        return found

    def of_table(self, attributes: Sequence[int]) -> float:
        """The weight of a pair, or for a column that of all pairs it is part of."""
        a, *others = attributes
        if others:
            return float(self.matrix[a, others[0]])
        return float(self.matrix[a].sum()) or self.columns[a]

    @property
    def wants_triples(self) -> bool:
        """Whether any triple is wanted as such."""
        return self.triples or self.target is not None or any(len(wanted) == 3 for wanted in self.sets)

    def wants(self, triple: Sequence[int]) -> bool:
        """Whether this one is (ascending)."""
        return self.triples or self.target in triple or tuple(triple) in self._named

    def number_of_triples(self) -> int:
        """How many triples are wanted."""
        d = len(self.columns)
        return comb(d, 3) if self.triples else len(self._named) + (comb(d - 1, 2) if self.target is not None else 0)

    def of_triple(self, triple: Sequence[int]) -> float:
        """The weight of a triple that is wanted: as of a pair, the third attribute's counting too."""
        return float(np.prod([self.columns[a] for a in triple]))

    @cached_property
    def _named(self) -> frozenset[tuple[int, ...]]:
        return frozenset(wanted for wanted in self.sets if len(wanted) == 3)

    def to_dict(self, names: Sequence[str]) -> dict[str, Any]:
        """Plain values, attributes by name."""
        return {
            "columns": list(self.columns),
            "sets": [[names[a] for a in wanted] for wanted in self.sets],
            "triples": self.triples,
            "target": None if self.target is None else names[self.target],
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any], names: Sequence[str]) -> Workload:
        """The reverse; ValueError or KeyError where it does not fit the names."""
        place = {name: a for a, name in enumerate(names)}
        columns = tuple(float(weight) for weight in values["columns"])
        sets = tuple(tuple(sorted(place[name] for name in wanted)) for wanted in values["sets"])
        if len(columns) != len(names) or not all(weight > 0 for weight in columns):
            raise ValueError("one positive weight an attribute")
        if any(not 2 <= len(set(wanted)) == len(wanted) <= 3 for wanted in sets):
            raise ValueError("a set has two or three attributes")
        target = None if values["target"] is None else place[values["target"]]
        return Workload(columns=columns, sets=sets, triples=bool(values["triples"]), target=target)

    def triples_within(self, cliques: Iterable[Sequence[int]]) -> list[tuple[int, ...]]:
        """The wanted triples that lie inside one of these cliques."""
        return sorted({triple for clique in cliques for triple in combinations(clique, 3) if self.wants(triple)})
