"""Exact conditional sampling without tables: draw, and keep a row with the probability its evidence gives it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.errors import UnsupportedError
from privbayes.model.factor import Factor
from privbayes.sample.ancestral import AncestralSampler

__all__ = ["RejectionSampler"]

_BATCH = 262_144
_MOST_DRAWN = 50_000_000


class RejectionSampler:
    """Rows of a sampler that pass the evidence; refuses when hardly any do."""

    def __init__(self, domain: Domain, forward: AncestralSampler, evidence: Sequence[Factor]) -> None:
        self._domain, self._forward, self._evidence = domain, forward, tuple(evidence)

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int32], ...]:
        """``rows`` rows from the conditional distribution."""
        kept: list[list[NDArray[np.int32]]] = [[] for _ in range(len(self._domain))]
        found = drawn = 0
        while found < rows:
            if drawn >= _MOST_DRAWN:
                raise UnsupportedError("this condition is too rare under the model to sample from; loosen it")
            batch = self._forward.draw(_BATCH, rng)
            drawn += _BATCH
            keep = np.ones(_BATCH, bool)
            for factor in self._evidence:
                attributes = [int(self._domain.axis_attribute[axis]) for axis in factor.scope]
                weight = factor.values[tuple(batch[a] for a in attributes)] / factor.values.max()
                keep &= rng.random(_BATCH) < weight
            for column, codes in zip(kept, batch, strict=True):
                column.append(codes[keep])
            found += int(keep.sum())
        return tuple(np.concatenate(column)[:rows] for column in kept)
