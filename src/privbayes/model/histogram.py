"""INFER for rows that were released as such: the table of them is the distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.errors import UnsupportedError
from privbayes.model.factor import MAX_CELLS, Factor
from privbayes.model.protocol import Sampler
from privbayes.privacy.released import Measurement

__all__ = ["KIND", "HistogramModel"]

KIND = "smoothed rows"


class HistogramModel:
    """The k released rows, each as likely as another. Marginals are those of the rows; sampling deals them out."""

    parameters: NDArray[np.float64] = np.empty(0)

    def __init__(self, domain: Domain, released: Measurement) -> None:
        if not len(domain) or released.values.size == 0 or released.values.size % len(domain):
            raise ValueError("the released rows do not fit the domain")
        self._domain = domain
        self._released = released
        self._rows = released.values.reshape(-1, len(domain))
        if self._rows.min() < 0 or np.any(self._rows >= np.asarray(domain.cardinalities)):
            raise ValueError("a released row lies outside the domain")

    @property
    def domain(self) -> Domain:
        """The attributes the model is over."""
        return self._domain

    @property
    def tables(self) -> tuple[tuple[tuple[int, ...], Measurement], ...]:
        """The rows, one after the other, over all attributes."""
        return ((tuple(int(axis) for axis in self._domain.first_axis), self._released),)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The released rows of codes."""
        return self._rows

    def marginal(self, attributes: Sequence[int], evidence: Sequence[Factor] = ()) -> NDArray[np.float64]:
        """The joint distribution of the attributes over the released rows, in this order (given the evidence)."""
        sizes = [self._domain.cardinalities[a] for a in attributes]
        if prod(sizes) > MAX_CELLS:
            raise UnsupportedError(
                f"a table over these columns has {prod(sizes):,} cells, over the limit of {MAX_CELLS:,}; ask for fewer"
            )
        weights = self._weights(evidence)
        cells = np.zeros(len(self._rows), np.int64)
        for attribute, size in zip(attributes, sizes, strict=True):
            cells = cells * size + self._rows[:, attribute]
        table: NDArray[np.float64] = np.bincount(cells, weights, minlength=prod(sizes)) / weights.sum()
        return table.reshape(sizes)

    def sampler(self, evidence: Sequence[Factor] = ()) -> Sampler:
        """Deals out the rows (those that the evidence admits)."""
        return RowDealer(self._rows, self._weights(evidence))

    def structure(self) -> Mapping[str, Any]:
        """How many rows, and how much of them is noise."""
        return {"kind": KIND, "rows": len(self._rows), "smoothing_delta": self._released.scale, "says": self._says()}

    def _says(self) -> str:
        k, delta = len(self._rows), self._released.scale
        noise = "" if delta < 0.9 else ": these rows are noise, near enough; raise epsilon or ask for fewer rows"
        return f"{k:,} rows, of which {_percent(delta)} are drawn uniformly from all possible rows{noise}"

    def _weights(self, evidence: Sequence[Factor]) -> NDArray[np.float64]:
        weights = np.ones(len(self._rows))
        for factor in evidence:
            at = tuple(self._at(axis) for axis in factor.scope)
            weights *= factor.values[at]
        if not weights.sum() > 0:
            raise UnsupportedError("the model gives this condition no probability (no released row meets it)")
        return weights

    def _at(self, axis: int) -> NDArray[np.int64]:
        codes = self._rows[:, self._domain.axis_attribute[axis]]
        return codes if self._domain.axis_level(axis) == 0 else self._domain.axis_codes(axis)[codes]


class RowDealer:
    """Rows as from a shuffled deck: the first k drawn are the k rows in random order, then the deck is shuffled again,
    so that n rows hold each of them n/k times, up to one. Where weights differ, rows are drawn independently by them.
    """

    def __init__(self, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        admitted = np.flatnonzero(weights > 0)
        self._rows, self._weights = rows[admitted], weights[admitted]
        self._deck = np.empty(0, np.int64)

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], ...]:
        """The next rows."""
        if self._weights.min() < self._weights.max():
            places = rng.choice(len(self._rows), rows, p=self._weights / self._weights.sum())
        else:
            while len(self._deck) < rows:
                shuffles = 1 + (rows - len(self._deck)) // len(self._rows)
                decks = np.tile(np.arange(len(self._rows)), (shuffles, 1))
                self._deck = np.concatenate([self._deck, rng.permuted(decks, axis=1).ravel()])
            places, self._deck = self._deck[:rows], self._deck[rows:]
        return tuple(np.ascontiguousarray(column, np.int32) for column in self._rows[places].T)


def _percent(share: float) -> str:
    return f"{share:.1%}" if 1e-3 <= share <= 0.999 else f"{100 * share:.6g}%"
