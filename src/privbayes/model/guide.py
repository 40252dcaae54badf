"""INFER from a model of another table: what it says of columns and pairs, moved to the released columns of this one.

Nothing here reads the table that is being fitted: the other model is public, or released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from privbayes.core.pairs import Pairs
from privbayes.core.residuals import centred
from privbayes.model.columns import Columns, on_simplex
from privbayes.model.observations import Observation
from privbayes.model.pair_tables import rake

__all__ = ["Guide"]

_EXACT = 1.0  # variance, in squared rows, of what is known without noise
_LEAST = 1e-6  # of a pair's rows lie in no cell that the other model rules out

Table = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Guide:
    """Another model's columns and tables of pairs; ``weight`` is how far pairs are believed to be like its own, from 0
    (independent) to 1.
    """

    columns: tuple[Table, ...]
    pairs: Pairs
    tables: Table
    weight: float = 1.0

    def known_columns(self, columns: Columns, observations: Sequence[Observation]) -> Columns:
        """Columns moved toward the other model's, by empirical Bayes: how far values may be from their
        counts there is read off what the whole column shows beyond its noise.
        """
        shares = list(columns.shares)
        for one in observations:
            if len(one.attributes) == 1:
                a = one.attributes[0]
                shares[a] = _toward(columns.total * self.columns[a], one, columns.total)
        return replace(columns, shares=tuple(shares))

    def reference(self, columns: Columns, pair: Sequence[int]) -> Table:
        """The counts to expect of a pair's cells: columns as released, odds as in the other model, mixed with none."""
        a, b = pair
        alone = np.outer(columns.shares[a], columns.shares[b])
        table = self.pairs.table(self.tables, int(self.pairs.place[a, b]))
        known = (1 - _LEAST) * (table if a < b else table.T) + _LEAST * alone
        raked = rake(known, columns.shares[a], columns.shares[b])
        counts: Table = columns.total * (self.weight * raked + (1 - self.weight) * alone)
        return counts

    def references(self, columns: Columns) -> Table:
        """The shares to expect of all pairs' cells."""
        return np.concatenate(
            [np.zeros(0), *(self.reference(columns, pair).ravel() / columns.total for pair in self.pairs.members)]
        )

    def settled(self, columns: Columns, observations: Sequence[Observation]) -> list[Observation]:
        """Observations in which single columns are as they are known with the other model's help."""
        found = []
        for one in observations:
            if len(one.attributes) == 1:
                shares = columns.shares[one.attributes[0]]
                one = replace(one, table=columns.total * (shares - 1 / len(shares)))
            found.append(one)
        return found

    def observations(self, columns: Columns) -> list[Observation]:
        """What a fit should know of columns and all pairs before it sees what was bought of them."""
        found = []
        for a, shares in enumerate(columns.shares):
            table = columns.total * (shares - 1 / len(shares))
            found.append(Observation(attributes=(a,), table=table, variance=_EXACT))
        for pair in self.pairs.members:
            table = self.reference(columns, pair)
            moved = float(np.abs(table.ravel() - columns.expected(pair)).sum())
            strength = max(moved, 1.0) / columns.total
            found.append(Observation(attributes=pair, table=centred(table), variance=_EXACT, strength=strength))
        return found


def _toward(expected: Table, one: Observation, total: float) -> Table:
    missing = one.table - centred(expected)
    excess = max(float((missing**2).sum()) - one.variance * (len(expected) - 1), 0.0)
    spread = expected**2 + (total / len(expected)) ** 2
    signal = spread * excess
    shrink = signal / (signal + one.variance * float(spread.sum()) + 1e-300)
    counts = on_simplex(expected + centred(missing * shrink), total) + 1e-3
    shares: Table = counts / counts.sum()
    return shares
