"""Exact integer counts of many tables at once: secret, so it hides itself and refuses to be saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

__all__ = ["Contingency"]


@dataclass(frozen=True, eq=False, repr=False)
class Contingency:
    """Exact counts of T tables, laid end to end: table t is ``cells[offsets[t]:offsets[t + 1]]``, in C order over the
    axes of request t (the last axis moves fastest). It stands left of the privacy line: only the ledger may turn it
    into something that leaves.
    """

    cells: NDArray[np.int64]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def table(self, t: int) -> NDArray[np.int64]:
        """The flat counts of table t (a view)."""
        return self.cells[self.offsets[t] : self.offsets[t + 1]]

    def __repr__(self) -> str:
        return f"<{len(self)} exact tables, hidden>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("exact counts cannot be pickled, copied or saved")
