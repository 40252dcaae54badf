"""Noisy tables of counts taken apart: for every small subset of a table's axes, the interaction part of that marginal.

The parts of a table are orthogonal, so their noises are uncorrelated, and each is an observation of its own: a table
bought whole says what its interactions would have said if each had been bought with the noise that its marginal has.
What several tables say of one part is averaged. Parts of more than `MOST_AXES` axes are left to the maximum-entropy
fit: they are many, mostly noise, and no triple of columns depends on them. Of blocks only columns and pairs are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.residuals import centred
from privbayes.model.observations import Form, Groups, Observation, combined, observed
from privbayes.privacy.released import Measurement

__all__ = ["MOST_AXES", "interaction_parts", "observations_of"]

MOST_AXES = 3


def observations_of(
    domain: Domain,
    tables: Sequence[tuple[tuple[int, ...], Measurement]],
    form: Form,
    groups: Sequence[Groups | None] | None = None,
) -> list[Observation]:
    """All that released tables say of interactions: one observation for each set of attributes and of levels.
    ``groups``: of the codes of each table's axes, where it was bought over groups.
    """
    found: list[Observation] = []
    for (axes, released), coarser in zip(tables, groups or [None] * len(tables), strict=True):
        whole = observed(domain, axes, released, form, coarser)
        found += [whole] if whole.centred else interaction_parts(whole, 2 if form == "blocks" else MOST_AXES)
    return combined(found)


def interaction_parts(whole: Observation, most_axes: int = MOST_AXES) -> Iterator[Observation]:
    """The parts of one table of counts, smaller ones first. An axis of one value interacts with nothing."""
    shape = whole.table.shape
    telling = [i for i, size in enumerate(shape) if size > 1]
    for k in range(1, min(len(telling), most_axes) + 1):
        for kept in combinations(telling, k):
            rest = tuple(i for i in range(len(shape)) if i not in kept)
            yield Observation(
                attributes=tuple(whole.attributes[i] for i in kept),
                table=centred(whole.table.sum(axis=rest)),
                variance=whole.variance * prod(shape[i] for i in rest),
                groups=_groups(whole, kept),
            )


def _groups(whole: Observation, kept: Sequence[int]) -> Groups | None:
    """Nothing where every axis is in full detail."""
    if whole.groups is None or all(np.array_equal(g, np.arange(len(g))) for g in (whole.groups[i] for i in kept)):
        return None
    return tuple(whole.groups[i] for i in kept)
