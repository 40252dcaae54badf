"""The one contract every engine fulfils: exact counts of a batch of marginal tables."""

from __future__ import annotations

from typing import Protocol

from privbayes.core.contingency import Contingency
from privbayes.core.domain import Domain
from privbayes.counts.request import MarginalRequests

__all__ = ["CountingBackend"]


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
