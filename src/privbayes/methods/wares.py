"""BUY: what may be bought once the links are known: every pair at several finenesses, and the columns once more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from math import prod

import numpy as np

from privbayes.core.domain import Domain
from privbayes.core.residuals import Coordinates, pooled
from privbayes.core.workload import Workload
from privbayes.measure.allocate import Offer, unit_variance
from privbayes.measure.marginals import Groups
from privbayes.model.columns import Columns
from privbayes.model.guide import Guide
from privbayes.model.observations import Observation
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.groupings import Grouping, grouping, groupings
from privbayes.structure.links import Links

__all__ = ["FINENESSES", "Ware", "column_wares", "pair_wares"]

FINENESSES = (12, 8, 6, 4, 3, 2)  # groups of values, besides the values themselves
_MOST = 20_000  # offers over groups, about a second's work
_LOSS = 2.0  # the power to which the captured shares of two columns are raised: what both lose is more than each alone


@dataclass(frozen=True, kw_only=True, eq=False)
class Ware:
    """A table that may be bought, over groups of codes where ``groups`` are given, and its offer."""

    axes: tuple[int, ...]
    groups: Groups | None
    offer: Offer


def pair_wares(
    domain: Domain,
    columns: Columns,
    links: Links,
    workload: Workload,
    unit: PrivacyUnit,
    *,
    finenesses: Sequence[int],
    seen: Sequence[Observation] = (),
    guide: Guide | None = None,
) -> list[Ware]:
    """Every pair as one item, over its values and over groups of them. A table over groups takes away only a part of
    the error, but has less noise, and fewer cells to put it on. What was ``seen`` before is topped up.
    """
    levels = [
        groupings(attribute, shares, finenesses)
        for attribute, shares in zip(domain.attributes, columns.shares, strict=True)
    ]
    known: dict[tuple[int, ...], list[Observation]] = {}
    for one in seen:
        known.setdefault(one.attributes, []).append(one)
    wares = []
    finest = tuple(attribute[0] for attribute in levels)
    room = _MOST
    grouped = set()  # pairs that there is room to offer over groups, those with the largest errors first
    for k in np.argsort(-links.errors, kind="stable"):
        room -= prod(len(levels[a]) for a in links.pairs[k])
        if room < 0:
            break
        grouped.add(links.pairs[k])
    unit_of = cache(lambda shape: unit_variance(Coordinates.of(shape, pure=False), unit))
    for item, (pair, error) in enumerate(zip(links.pairs, links.errors.tolist(), strict=True)):
        offered = [levels[a] if pair in grouped else [finest[a]] for a in pair]
        choices = [(choice, 0.0) for choice in product(*offered)]
        for one in known.get(pair, ()):
            groups = one.groups or tuple(finest[a].codes for a in pair)
            before = [
                grouping(domain.attributes[a], columns.shares[a], codes) for a, codes in zip(pair, groups, strict=True)
            ]
            choices = [(choice, precision) for choice, precision in choices if not _same(choice, before)]
            choices.append((tuple(before), 1 / one.variance))
        for choice, precision in choices:
            whole = all(one.size == domain.cardinalities[a] for a, one in zip(pair, choice, strict=True))
            if not whole and not error > 0:
                continue  # nothing to gain, at any price
            codes = tuple(one.codes for one in choice)
            shape = tuple(one.size for one in choice)
            expected = columns.expected(pair, codes)
            if guide is not None:
                expected = pooled(guide.reference(columns, pair), codes).ravel()
            offer = Offer(
                item=item,
                shape=shape,
                expected=expected,
                error=error * prod(one.captured for one in choice) ** _LOSS,
                weight=workload.of_table(pair),
                unit=unit_of(shape),
                precision=precision,
            )
            axes = tuple(domain.axis(a) for a in pair)
            wares.append(Ware(axes=axes, groups=None if whole else codes, offer=offer))
    return wares


def _same(choice: Sequence[Grouping], other: Sequence[Grouping]) -> bool:
    return all(np.array_equal(one.codes, two.codes) for one, two in zip(choice, other, strict=True))


def column_wares(
    domain: Domain, columns: Columns, workload: Workload, unit: PrivacyUnit, *, first_item: int
) -> list[Ware]:
    """Every column of more than one value once more: it is part of as many pairs as there are other columns."""
    wares = []
    for a, size in enumerate(domain.cardinalities):
        if size == 1:
            continue
        coordinates = Coordinates.of([size], pure=False)
        offer = Offer(
            item=first_item + a,
            shape=coordinates.shape,
            expected=columns.expected([a]),
            error=0.0,
            weight=workload.of_table([a]),
            unit=unit_variance(coordinates, unit),
            precision=1 / columns.variances[a],
        )
        wares.append(Ware(axes=(domain.axis(a),), groups=None, offer=offer))
    return wares
