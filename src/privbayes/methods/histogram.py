"""The smoothed histogram (Wasserman and Zhou 2010): a few rows, each from the table or, by chance delta, from anywhere.

Follows the paper: k rows drawn independently from (1 - delta) f + delta uniform are epsilon-private for
epsilon = k ln((1 - delta) m / (n delta) + 1), m being the number of equal cells; no noise is added to any count.
Differs from it: delta is solved for, rounded up, and decided exactly; k may be the largest that keeps delta within
``smoothing``; the cells are the whole declared domain, never laid out; n may be private; zCDP is priced row by row.
Beyond the k rows that were paid for, sampling deals the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import log10, pi, prod, sqrt
from typing import Any

from privbayes.core.domain import Domain
from privbayes.counts.backend import CountingBackend
from privbayes.errors import BudgetError, UnsupportedError
from privbayes.measure.marginals import measure_total
from privbayes.measure.rows import measure_rows, row_sensitivity
from privbayes.methods.plan import Plan
from privbayes.methods.privbayes import TOTAL_FRACTION
from privbayes.model.histogram import HistogramModel
from privbayes.privacy.budget import PrivacyBudget
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.smoothing import most_rows, smoothing_for
from privbayes.privacy.unit import PrivacyUnit

__all__ = ["SmoothedHistogramSpec", "fit", "plan"]

MAX_CODES = 2**26  # of all released rows; 8 bytes each

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class SmoothedHistogramSpec:
    """Every knob. ``rows`` is k; without it, k is the largest number of rows of which at most the share ``smoothing``
    are expected to be noise, but no more than the table has, and at least 1. By default three rows in four are real.
    """

    rows: int | None = None
    smoothing: float = 0.25
    encoding: str = "vanilla"

    def __post_init__(self) -> None:
        if self.encoding not in ("hierarchical", "vanilla", "binary", "gray"):
            raise UnsupportedError(f"encoding must be hierarchical, vanilla, binary or gray, not {self.encoding!r}")
        if self.rows is not None and (isinstance(self.rows, bool) or not isinstance(self.rows, int) or self.rows < 1):
            raise UnsupportedError(f"rows must be a whole number of at least 1, not {self.rows!r}")
        if not 0 < self.smoothing < 1:
            raise BudgetError(f"smoothing must lie strictly between 0 and 1, not {self.smoothing}")


def choose_rows(
    spec: SmoothedHistogramSpec, domain: Domain, *, n: int, pure: bool, unit: PrivacyUnit, budget: Fraction
) -> int:
    """k, from public facts alone."""
    d = len(domain)
    if spec.rows is not None:
        if spec.rows * d > MAX_CODES:
            raise UnsupportedError(f"{spec.rows:,} rows do not fit in memory; ask for at most {MAX_CODES // d:,}")
        return spec.rows
    most = most_rows(budget, spec.smoothing, pure=pure, base=max(1, n), cells=_cells(domain), moved=_moved(unit))
    return max(1, min(most, n, MAX_CODES // d))


def fit(
    spec: SmoothedHistogramSpec, counts: CountingBackend, ledger: Ledger, progress: Progress | None = None
) -> tuple[HistogramModel, int]:
    """Buy rows. Also returns the number of rows of the table: public, or as bought."""
    n = measure_total(counts, ledger, ledger.total * TOTAL_FRACTION)
    share = ledger.remaining
    k = choose_rows(spec, counts.domain, n=n, pure=ledger.budget.is_pure, unit=ledger.unit, budget=share)
    released = measure_rows(counts, ledger, k, n, share)
    if progress is not None:
        progress("rows", k, k)
    return HistogramModel(counts.domain, released), n


def plan(spec: SmoothedHistogramSpec, domain: Domain, *, n: int, budget: PrivacyBudget, unit: PrivacyUnit) -> Plan:
    """How many rows, and how much of them is noise, from public facts alone."""
    total = budget.total()
    share = total if unit.n_is_public else total * (1 - TOTAL_FRACTION)
    k = choose_rows(spec, domain, n=n, pure=budget.is_pure, unit=unit, budget=share)
    cells = _cells(domain)
    exact, _ = smoothing_for(share, k, pure=budget.is_pure, base=max(1, n), cells=cells, moved=_moved(unit))
    delta = float(exact)
    columns = tuple(
        {"name": name, "values": size, "expected_error": _error(size, k, delta)}
        for name, size in zip(domain.names, domain.cardinalities, strict=True)
    )
    return Plan(
        method="histogram",
        n_rows=n,
        epsilon=budget.epsilon,
        delta=budget.delta,
        rho=None if budget.is_pure else float(total),
        neighbours=unit.neighbours,
        form="rows",
        encoding=spec.encoding,
        tables=0,
        share_a_table=0.0,
        noise="smoothing",
        noise_scale=delta,
        expected_cell_noise=0.0,
        columns=columns,
        pairs=_pairs(domain, k, delta),
        details={"rows_released": k, "smoothing_delta": delta, "cells": _in_words(cells)},
        notes=tuple(_notes(spec, k, delta, unit, n)),
    )


def _cells(domain: Domain) -> int:
    return prod(domain.cardinalities)


def _moved(unit: PrivacyUnit) -> int:
    return row_sensitivity(unit.neighbours).for_rows(unit.rows_per_person).linf or 0


def _error(cells: int, rows: int, delta: float) -> float:
    """At most, on average: the pull towards uniform, and half of E|deviation| of k draws, widest for equal cells."""
    return min(1.0, delta * (1 - 1 / cells) + 0.5 * sqrt(2 / pi) * sqrt((cells - 1) / rows))


def _pairs(domain: Domain, rows: int, delta: float) -> dict[str, Any]:
    sizes, names = domain.cardinalities, domain.names
    errors = {
        (names[i], names[j]): _error(sizes[i] * sizes[j], rows, delta) for j in range(len(domain)) for i in range(j)
    }
    found = [
        {"columns": list(pair), "expected_error": error}
        for pair, error in sorted(errors.items(), key=lambda item: (-item[1], item[0]))
    ]
    return {
        "together_in_a_table": len(found),
        "of": len(found),
        "mean_expected_error": sum(errors.values()) / len(errors) if errors else None,
        "worst": found[:5],
        "each": found,
    }


def _notes(spec: SmoothedHistogramSpec, k: int, delta: float, unit: PrivacyUnit, n: int) -> list[str]:
    notes = [f"{delta:.4g} of the released rows are expected to be drawn uniformly from all possible rows"]
    if delta > 0.9:
        notes.append(
            "that is so near 1 that the rows are noise: the table has far fewer rows than possible cells; "
            "raise epsilon, declare fewer columns or bins, or use another method"
        )
    elif spec.rows is None and delta > spec.smoothing:
        notes.append(f"not even one row keeps the smoothing within {spec.smoothing:g}")
    if n > k:
        notes.append(f"to sample more than the {k:,} released rows is to repeat them")
    if not unit.n_is_public:
        notes.append(f"the number of rows is private: {float(TOTAL_FRACTION):.0%} of the budget buys a noisy one")
    return notes


def _in_words(cells: int) -> str:
    if cells < 10**15:
        return f"{cells:,}"
    digits = len(str(cells)) - 1
    return f"about {cells / 10**digits:.1f}e{digits}" if digits < 300 else f"about 1e{round(_log10(cells))}"


def _log10(value: int) -> float:
    shift = max(0, value.bit_length() - 1000)
    return log10(value >> shift) + shift * log10(2)
