"""SELECT how finely: groups of an attribute's values, made from the schema's hierarchy and released columns, so that a
table over groups costs less than the whole and still tells most of it. Public and released facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Attribute

__all__ = ["Grouping", "grouping", "groupings"]

_SMOOTH = 0.7  # of what neighbours in a hierarchy differ by is thought to run smoothly along it

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Grouping:
    """A group for each value. ``captured``: the part of the error a table over values would take away along this
    attribute that a table over groups is believed to take away.
    """

    codes: NDArray[np.int64] = field(repr=False)
    size: int
    captured: float


def groupings(attribute: Attribute, shares: Vector, sizes: Sequence[int]) -> list[Grouping]:
    """The values themselves, then fewer and fewer groups of them, as even as they can be by the released shares.

    Where the schema has a hierarchy (an ordinal's binary tree, a taxonomy) groups are runs of its leaves. Elsewhere
    the most frequent values stay alone and the others are one group.
    """
    size = attribute.cardinality
    found = [grouping(attribute, shares, np.arange(size))]
    order = _leaves(attribute)
    for wanted in sizes:
        if wanted < size:
            codes = _pooled(shares, wanted) if order is None else _runs(order, shares, wanted)
            found.append(grouping(attribute, shares, codes))
    return found


def grouping(attribute: Attribute, shares: Vector, codes: NDArray[np.int64]) -> Grouping:
    """These groups, and what they are believed to capture."""
    size = int(codes.max()) + 1
    whole = size == attribute.cardinality
    return Grouping(codes=codes, size=size, captured=1.0 if whole else _captured(codes, shares, _leaves(attribute)))


def _leaves(attribute: Attribute) -> NDArray[np.int64] | None:
    """The values in the order of the hierarchy's leaves; None without a hierarchy."""
    if attribute.height == 1:
        return None
    return np.lexsort([np.arange(attribute.cardinality), *(np.array(level) for level in attribute.levels[1:])])


def _pooled(shares: Vector, wanted: int) -> NDArray[np.int64]:
    codes = np.full(len(shares), wanted - 1)
    codes[np.argsort(-shares, kind="stable")[: wanted - 1]] = np.arange(wanted - 1)
    return codes


def _runs(order: NDArray[np.int64], shares: Vector, wanted: int) -> NDArray[np.int64]:
    """The heaviest run that can be cut is cut where its halves are most alike, until there are enough."""
    mass = shares[order]
    runs = [(0, len(order))]
    while len(runs) < wanted:
        start, stop = max((run for run in runs if run[1] - run[0] > 1), key=lambda run: mass[run[0] : run[1]].sum())
        left = np.cumsum(mass[start:stop])
        cut = start + 1 + int(np.argmin(np.abs(left[:-1] - left[-1] / 2)))
        place = runs.index((start, stop))
        runs[place : place + 1] = [(start, cut), (cut, stop)]
    codes = np.empty(len(order), np.int64)
    for group, (start, stop) in enumerate(runs):
        codes[order[start:stop]] = group
    return codes


def _captured(codes: NDArray[np.int64], shares: Vector, order: NDArray[np.int64] | None) -> float:
    """Of unstructured differences between values, and of a linear trend along the hierarchy, the part of the squares
    that lies between groups.
    """
    mass = np.bincount(codes, shares)
    square = float((shares**2).sum())
    between = float((np.bincount(codes, shares**2) / np.maximum(mass, 1e-300)).sum())
    rough = (between - square) / max(1 - square, 1e-12)
    if order is None:
        return max(rough, 0.0)
    middle = np.empty(len(order))
    middle[order] = np.cumsum(shares[order]) - shares[order] / 2
    middle = middle - shares @ middle
    trend = (np.bincount(codes, shares * middle) ** 2 / np.maximum(mass, 1e-300)).sum() / max(
        float(shares @ middle**2), 1e-300
    )
    return max(_SMOOTH * float(trend) + (1 - _SMOOTH) * rough, 0.0)
