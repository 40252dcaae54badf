"""SELECT by one vector: how far every pair of attributes is from what its released columns say, all at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import sqrt

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
    "GRID",
    "Reference",
    "choose_reference",
    "errors_against",
    "exact_errors",
    "measure_errors",
    "measure_errors_against",
    "pair_error_sensitivity",
    "product_reference",
    "total_error_sensitivity",
]

GRID = 64  # counts are compared to this fraction of a row; far below any noise
_CELLS_A_PASS = 4_000_000

Columns = Sequence[NDArray[np.float64]]
Reference = Callable[[tuple[int, ...]], NDArray[np.float64]]  # the counts a table is compared with, from released facts


def pair_error_sensitivity(neighbours: Neighbours, tables: int) -> Sensitivity:
    """Claim: with T tables and whole-numbered references y_t that do not depend on the rows, each
        e_t = sum over cells |G c_t - y_t| moves by at most G under add-remove and 2G under replace; all T may move at
        once, so that the vector moves by T times that in L1 and sqrt(T) times in L2. One of them alone: L-infinity.
    Neighbours: both. Assumes: references follow from released values and public facts only, never from the true
        number of rows; each row lands in exactly one cell of each table.
    Proof sketch: the reverse triangle inequality, | |G c - y| - |G c' - y| | <= G |c - c'|_1, and a row more or less
        changes one cell by 1, a replaced row two cells by 1. Everything is an integer: nothing is rounded.
    Checked by: tests/privacy/test_pair_error_sensitivity.py, every small table and neighbour, random references.
    """
    step = GRID if neighbours == "add-remove" else 2 * GRID
    return Sensitivity(
        neighbours=neighbours,
        claim=f"L1 distance to a released reference, {tables} tables, times {GRID}",
        l1=tables * step,
        l2_squared=tables * step**2,
        linf=step,
    )


def product_reference(columns: Columns, total: float, table: Sequence[int]) -> NDArray[np.int64]:
    """G n q_i q_j ... on a table's cells, rounded: a constant, since n and the q are released."""
    expected = np.array([float(total) * GRID])
    for attribute in table:
        expected = np.multiply.outer(expected, columns[attribute]).reshape(-1)
    whole: NDArray[np.int64] = np.rint(expected).astype(np.int64)
    return whole


def _whole(counts: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(counts.ravel() * GRID).astype(np.int64)


def exact_errors(
    counts: CountingBackend,
    tables: Sequence[tuple[int, ...]],
    columns: Columns,
    total: float,
    reference: Reference | None = None,
) -> NDArray[np.int64]:
    """E_t of every table (exact and secret), against the product of its columns or another released reference."""
    if reference is None:
        return errors_against(counts, tables, lambda t: product_reference(columns, total, tables[t]))
    return errors_against(counts, tables, lambda t: _whole(reference(tables[t])))


def errors_against(
    counts: CountingBackend, tables: Sequence[tuple[int, ...]], reference: Callable[[int], NDArray[np.int64]]
) -> NDArray[np.int64]:
    """E_t of every table against y_t (exact and secret)."""
    domain = counts.domain
    requests = MarginalRequests.of([_axes(domain, table) for table in tables])
    errors = np.empty(len(tables), np.int64)
    for part in requests.passes(domain, _CELLS_A_PASS):
        exact = counts.count(MarginalRequests(requests.axes[part]))
        for t in range(len(tables[part])):
            errors[part.start + t] = np.abs(GRID * exact.table(t) - reference(part.start + t)).sum()
    return errors


def measure_errors(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    columns: Columns,
    total: float,
    share: Fraction,
    reference: Reference | None = None,
) -> Measurement:
    """The errors of all tables, in units of 1/GRID rows, as one noisy vector."""
    return ledger.release_counts(
        exact_errors(counts, tables, columns, total, reference),
        pair_error_sensitivity(ledger.unit.neighbours, len(tables)),
        share,
        f"errors of {len(tables)} tables",
    )


def measure_errors_against(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    expected: Sequence[NDArray[np.float64]],
    share: Fraction,
) -> Measurement:
    """The errors of tables against counts of their cells (flat) that follow from what was released: constants."""
    return ledger.release_counts(
        errors_against(counts, tables, lambda t: np.rint(GRID * expected[t]).astype(np.int64)),
        pair_error_sensitivity(ledger.unit.neighbours, len(tables)),
        share,
        f"errors of {len(tables)} tables against the model",
    )


def total_error_sensitivity(neighbours: Neighbours, tables: int) -> Sensitivity:
    """Claim: the sum of the errors of T tables moves by at most T G under add-remove and 2 T G under replace.
    Neighbours, assumptions: those of `pair_error_sensitivity`.
    Proof sketch: each of them moves by at most G (2G).
    Checked by: tests/privacy/test_pair_error_sensitivity.py.
    """
    bound = pair_error_sensitivity(neighbours, tables)
    return Sensitivity(
        neighbours=neighbours,
        claim=f"sum of L1 distances of {tables} tables to released references, times {GRID}",
        linf=bound.l1,
    )


def choose_reference(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    columns: Columns,
    total: float,
    references: Sequence[Reference],
    share: Fraction,
    handicap: float,
) -> int:
    """Which of several references the tables are nearest to, all tables together. The first has an advantage over the
    others, a constant: so many units of the noise of the choice, or so.
    """
    sums = [int(exact_errors(counts, tables, columns, total, reference).sum()) for reference in references]
    bound = total_error_sensitivity(ledger.unit.neighbours, len(tables))
    sums[0] -= int(handicap * int(bound.linf or 0) / sqrt(2 * float(share)))
    label = f"choice of a reference for {len(tables)} tables"
    return ledger.release_choice(-np.array(sums, np.int64), bound, share, label).index


def _axes(domain: Domain, table: Sequence[int]) -> tuple[int, ...]:
    return tuple(domain.axis(attribute) for attribute in table)
