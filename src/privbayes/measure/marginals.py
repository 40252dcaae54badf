"""BUY: exact tables in, noisy tables out, through the ledger; and what one row can do to a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.released import Measurement
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours

__all__ = [
    "Groups",
    "MeasuredTable",
    "measure_marginals",
    "measure_total",
    "table_label",
    "table_sensitivity",
    "total_sensitivity",
]

Groups = tuple[NDArray[np.int64], ...]  # for each axis of a table, the group of every code


@dataclass(frozen=True, kw_only=True, eq=False)
class MeasuredTable:
    """A noisy table and the axes of its cells (C order); ``groups`` has the group of every code of an axis where the
    table is over groups of codes.
    """

    axes: tuple[int, ...]
    measurement: Measurement
    groups: Groups | None = None


def table_sensitivity(neighbours: Neighbours) -> Sensitivity:
    """Claim: the counts of one table move by at most 2 in L1 and sqrt(2) in L2 (replace), or 1 and 1 (add-remove).

    Neighbours: both. Assumes: each row lands in exactly one cell, which the codec guarantees.
    Proof sketch: replacing a row lowers one cell by 1 and raises one by 1 (or neither); adding or removing a row
    changes one cell by 1. Checked by: tests/privacy/test_table_sensitivity.py.
    """
    if neighbours == "replace":
        return Sensitivity(neighbours=neighbours, claim="table: L1 2, L2 sqrt 2", l1=2, l2_squared=2)
    return Sensitivity(neighbours=neighbours, claim="table: L1 1, L2 1", l1=1, l2_squared=1)


def total_sensitivity(neighbours: Neighbours) -> Sensitivity:
    """Claim: the number of rows moves by 1 under add-remove. Under replace it is public and never bought.

    Proof sketch: by definition of the relation. Checked by: tests/privacy/test_table_sensitivity.py.
    """
    moves: Literal[0, 1] = 0 if neighbours == "replace" else 1
    return Sensitivity(neighbours=neighbours, claim=f"number of rows: {moves}", l1=moves, l2_squared=moves)


def measure_total(counts: CountingBackend, ledger: Ledger, share: Fraction) -> int:
    """The number of rows: public under ``replace``; otherwise bought for ``share`` and kept at least 1."""
    if ledger.unit.n_is_public:
        return counts.n_rows
    bought = ledger.release_counts(
        np.array([counts.n_rows], np.int64), total_sensitivity(ledger.unit.neighbours), share, "number of rows"
    )
    return max(1, int(bought.values[0]))


def measure_marginals(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    share: Fraction,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[MeasuredTable, ...]:
    """Lines 2-4 of algorithms 1 and 3: each table with noise, the share cut into equal parts."""
    if not tables:
        return ()
    exact = counts.count(MarginalRequests.of(tables))
    sensitivity = table_sensitivity(ledger.unit.neighbours)
    measured: list[MeasuredTable] = []
    for t, axes in enumerate(tables):
        label = "table " + table_label(counts.domain, axes)
        released = ledger.release_counts(exact.table(t), sensitivity, share / len(tables), label)
        measured.append(MeasuredTable(axes=axes, measurement=released))
        if progress is not None:
            progress(t + 1, len(tables))
    return tuple(measured)


def table_label(domain: Domain, axes: Sequence[int]) -> str:
    """What a receipt calls a table: its attributes, with the level of a generalised one."""
    levels = ((domain.names[domain.axis_attribute[axis]], domain.axis_level(axis)) for axis in axes)
    return " x ".join(f"{name}^{level}" if level else name for name, level in levels)
