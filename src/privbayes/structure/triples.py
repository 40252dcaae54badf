"""SELECT: which triples of attributes are not told by their pairs, from one noisy vector of errors against a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from privbayes.counts.backend import CountingBackend
from privbayes.privacy.ledger import Ledger
from privbayes.structure.links import Links
from privbayes.structure.pair_errors import GRID, measure_errors_against
from privbayes.structure.strengths import posterior_errors

__all__ = ["measured_triples", "most_promising"]

Vector = NDArray[np.float64]
Triple = tuple[int, ...]


def most_promising(triples: Sequence[Triple], errors: Mapping[Triple, float], most: int) -> list[Triple]:
    """Where there are too many: those whose pairs have the largest released errors in all."""
    if len(triples) <= most:
        return list(triples)
    around = [sum(errors.get(pair, 0.0) for pair in combinations(triple, 2)) for triple in triples]
    return [triples[k] for k in sorted(np.argsort(-np.array(around), kind="stable")[:most].tolist())]


def measured_triples(
    counts: CountingBackend,
    ledger: Ledger,
    triples: Sequence[Triple],
    expected: Sequence[Vector],
    bias: Vector,
    share: Fraction,
) -> Links:
    """The errors of the triples against counts of their cells that follow from what was released. ``bias``: what noise
    in their pairs explains.
    """
    released = measure_errors_against(counts, ledger, triples, expected, share)
    deviation = sqrt(released.variance) / GRID
    errors = posterior_errors(released.values / GRID, deviation, bias)
    return Links(pairs=tuple(triples), errors=errors, deviation=deviation)
