"""The one contract every engine fulfils: exact counts of a batch of marginal tables. And one that an engine may."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from privbayes.core.contingency import Contingency
from privbayes.core.domain import Domain
from privbayes.counts.request import MarginalRequests

__all__ = ["CountingBackend", "RowBackend"]


class CountingBackend(Protocol):
    """Counts tables over one encoded private table. Every engine returns the same integers, bit for bit."""

    @property
    def domain(self) -> Domain:
        """The encoded domain (public)."""
        ...

    @property
    def n_rows(self) -> int:
        """Exact number of rows: public under ``replace``, private under ``add-remove``."""
        ...

    def count(self, requests: MarginalRequests) -> Contingency:
        """One batch, one pass over the data; table t of the result has the cells of request t in its axis order."""
        ...


@runtime_checkable
class RowBackend(CountingBackend, Protocol):
    """An engine that can also hand over whole rows, for the one method that releases rows."""

    def rows(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """The level-0 codes of the rows at these places, one row a line (exact and secret)."""
        ...
