"""BUY: the interaction part of tables, through the ledger; and what one row can do to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from privbayes.core.residuals import Coordinates, pooled
from privbayes.counts.backend import CountingBackend
from privbayes.counts.request import MarginalRequests
from privbayes.measure.marginals import Groups, MeasuredTable, table_label
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours

__all__ = ["measure_residuals", "residual_sensitivity"]


def residual_sensitivity(coordinates: Coordinates, neighbours: Neighbours) -> Sensitivity:
    """Claim: one row more or less moves the coordinates of a table by `column_l1` in L1 and the root of
        `column_l2_squared` in L2; a row replaced by another by at most twice the L1 norm, and the root of
        `pair_l2_squared` in L2.
    Neighbours: both. Assumes: each row lands in exactly one cell.
    Proof sketch: add-remove: the change is A e_c, A the Kronecker product of the axes' matrices, e_c a cell's unit
        vector, so a norm of it is the product over the axes of the norms of one column, and these are the same for
        every column: contrast 1, -1; residual r - 1 once and -1 elsewhere, L1 2(r - 1), squared L2 r(r - 1); whole 1.
        replace: the change is A e_c - A e_c'. L1 by the triangle inequality. Squared L2 is the two squared norms less
        twice the inner product, which is a product over the axes of the value for equal codes (the squared norm) or for
        different ones (contrast -1; residual -r; whole 0): its least value over all ways to differ in some axis.
    Checked by: tests/privacy/test_residual_sensitivity.py, every small shape, every row, every pair of rows.
    """
    shape = "x".join(map(str, coordinates.shape))
    if neighbours == "replace":
        return Sensitivity(
            neighbours=neighbours,
            claim=f"interaction of a {shape} table, replaced row",
            l1=2 * coordinates.column_l1,
            l2_squared=coordinates.pair_l2_squared,
        )
    return Sensitivity(
        neighbours=neighbours,
        claim=f"interaction of a {shape} table",
        l1=coordinates.column_l1,
        l2_squared=coordinates.column_l2_squared,
    )


def measure_residuals(
    counts: CountingBackend,
    ledger: Ledger,
    tables: Sequence[tuple[int, ...]],
    shares: Sequence[Fraction],
    progress: Callable[[int, int], None] | None = None,
    groups: Sequence[Groups | None] | None = None,
) -> tuple[MeasuredTable, ...]:
    """Noisy coordinates of the interaction part of each table (over axes), each for a share of its own. A table over
    ``groups`` of codes is a table like any other: a row lands in one cell, so its bound is that of its shape.
    """
    domain = counts.domain
    exact = counts.count(MarginalRequests.of(tables))
    measured: list[MeasuredTable] = []
    for t, (axes, share) in enumerate(zip(tables, shares, strict=True)):
        table = exact.table(t).reshape([int(domain.axis_size[a]) for a in axes])
        label, grouped = table_label(domain, axes), groups[t] if groups else None
        if grouped is not None:
            table = pooled(table, grouped)
            label += " over groups, " + " x ".join(map(str, table.shape))
        coordinates = Coordinates.of(table.shape, pure=ledger.budget.is_pure)
        released = ledger.release_counts(
            coordinates.encode(table),
            residual_sensitivity(coordinates, ledger.unit.neighbours),
            share,
            "interaction " + label,
        )
        released = replace(released, unit=coordinates.unit)
        measured.append(MeasuredTable(axes=axes, measurement=released, groups=grouped))
        if progress is not None:
            progress(t + 1, len(tables))
    return tuple(measured)
