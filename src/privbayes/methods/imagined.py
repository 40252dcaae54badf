"""A made-up table over a declared domain, on which a fit can be rehearsed before any row is read: a function of the
schema, the number of rows and a fixed seed alone. Columns are skewed, and each leans on one before it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from privbayes.core.contingency import Contingency
from privbayes.core.domain import Domain
from privbayes.counts.request import MarginalRequests
from privbayes.privacy.noise import Mechanism, OpenDPNoise, RowSource
from privbayes.privacy.sensitivity import Sensitivity

__all__ = ["ImaginedTable", "RehearsedNoise"]

_ROWS = 8_192  # drawn at most; each stands for several where the table is larger
_LEANING = 0.4  # of the rows follow the column that theirs leans on
_SKEW = 0.7  # exponent of the shares of values, largest first


class ImaginedTable:
    """Counts tables over imagined rows, as an engine does over real ones."""

    def __init__(self, domain: Domain, n_rows: int, rng: np.random.Generator) -> None:
        self._domain = domain
        self._n_rows = n_rows
        drawn = min(n_rows, _ROWS)
        self._weights = np.full(drawn, n_rows // drawn, np.float64)
        self._weights[: n_rows % drawn] += 1
        self._columns = _imagine(domain.cardinalities, drawn, rng)

    @property
    def domain(self) -> Domain:
        """The declared domain."""
        return self._domain

    @property
    def n_rows(self) -> int:
        """As many rows as were asked for."""
        return self._n_rows

    def count(self, requests: MarginalRequests) -> Contingency:
        """The tables of the imagined rows."""
        sizes = requests.sizes(self._domain)
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        cells = np.zeros(int(offsets[-1]), np.int64)
        for t, axes in enumerate(requests.axes):
            place = np.zeros(len(self._weights), np.int64)
            for axis in axes[axes >= 0].tolist():
                codes = self._domain.axis_codes(axis)[self._columns[self._domain.axis_attribute[axis]]]
                place = place * int(self._domain.axis_size[axis]) + codes
            counted = np.bincount(place, self._weights, int(sizes[t]))
            cells[offsets[t] : offsets[t + 1]] = np.rint(counted)
        return Contingency(cells, offsets)

    def shares(self, attributes: tuple[int, ...]) -> NDArray[np.float64]:
        """What a perfect model would say."""
        counted = self.count(MarginalRequests.of([[self._domain.axis(a) for a in attributes]]))
        shape = [self._domain.cardinalities[a] for a in attributes]
        return counted.cells.reshape(shape) / self._n_rows


class RehearsedNoise:
    """Noise of the scale and price that a real fit would have, from a fixed seed: it protects nothing, says so, and is
    added to imagined rows only.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._priced = OpenDPNoise()

    def add_noise(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """The law of the real mechanism, rounded."""
        real = self._priced.add_noise(pure=pure, sensitivity=sensitivity, share=share)
        law = self._rng.laplace if pure else self._rng.normal

        def invoke(values: NDArray[np.int64]) -> NDArray[np.int64]:
            return values + np.rint(law(0.0, real.scale, values.size)).astype(np.int64)

        return replace(real, private=False, invoke=invoke)

    def choose(self, *, pure: bool, sensitivity: Sensitivity, share: Fraction) -> Mechanism:
        """Permute-and-flip is the largest score under exponential noise, the exponential mechanism under Gumbel's."""
        real = self._priced.choose(pure=pure, sensitivity=sensitivity, share=share)

        def invoke(scores: NDArray[np.int64]) -> int:
            size = scores.size
            noise = self._rng.exponential(real.scale, size) if pure else self._rng.gumbel(0.0, real.scale, size)
            return int(np.argmax(scores + noise))

        return replace(real, private=False, invoke=invoke)

    def pick_rows(
        self, *, pure: bool, sensitivity: Sensitivity, share: Fraction, rows: int, base: int, cells: int
    ) -> Mechanism:
        """No rehearsal needs rows."""

        def invoke(source: RowSource) -> NDArray[np.int64]:
            return source.rows(np.arange(rows, dtype=np.int64) % source.n_rows)

        real = self._priced.pick_rows(
            pure=pure, sensitivity=sensitivity, share=share, rows=rows, base=base, cells=cells
        )
        return replace(real, private=False, invoke=invoke)


def _imagine(sizes: tuple[int, ...], rows: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    columns: list[NDArray[np.int64]] = []
    for a, size in enumerate(sizes):
        shares = np.arange(1, size + 1) ** -_SKEW
        own = rng.choice(size, rows, p=rng.permutation(shares / shares.sum()))
        if a:
            before = int(rng.integers(a))
            follows = rng.random(rows) < _LEANING
            own = np.where(follows, columns[before] * size // sizes[before], own)
        columns.append(own.astype(np.int64))
    return columns
