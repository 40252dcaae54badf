"""BUY: a few whole rows, smoothed, through the ledger; and what one row can do to the share of a cell."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend, RowBackend
from privbayes.errors import UnsupportedError
from privbayes.privacy.ledger import Ledger
from privbayes.privacy.released import Measurement
from privbayes.privacy.sensitivity import Sensitivity
from privbayes.privacy.unit import Neighbours

__all__ = ["measure_rows", "row_sensitivity"]


def row_sensitivity(neighbours: Neighbours) -> Sensitivity:
    """Claim: no cell's share of the table moves by more than 1/N; the bound is kept in units of 1/N.

    Neighbours: both. Assumes: each row lies in exactly one cell; N as in `Ledger.release_rows`, where the proof stands.
    Checked by: tests/privacy/test_smoothed_rows.py.
    """
    return Sensitivity(neighbours=neighbours, claim="share of a cell: 1/N", linf=1)


def measure_rows(counts: CountingBackend, ledger: Ledger, rows: int, n: int, share: Fraction) -> Measurement:
    """``rows`` smoothed rows; ``n`` is the number of rows as it may be known: public, or bought."""
    if not isinstance(counts, RowBackend):
        raise UnsupportedError("this engine counts but cannot hand over rows; use engine='memory' for method histogram")
    return ledger.release_rows(
        _Rows(counts), rows, max(1, n), row_sensitivity(ledger.unit.neighbours), share, f"{rows} smoothed rows"
    )


@dataclass(frozen=True, eq=False, repr=False)
class _Rows:
    """The rows of an engine as the ledger takes them; secret, so it hides itself and refuses to be saved."""

    counts: RowBackend

    @property
    def n_rows(self) -> int:
        return self.counts.n_rows

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.counts.domain.cardinalities

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.counts.rows(places)

    def __repr__(self) -> str:
        return "<rows, hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("private rows cannot be pickled, copied or saved")
