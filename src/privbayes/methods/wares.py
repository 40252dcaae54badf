"""BUY: what may be bought once the links are known: every pair at several finenesses, and the columns once more."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod

from privbayes.core.domain import Domain
from privbayes.core.residuals import Coordinates
from privbayes.core.workload import Workload
from privbayes.measure.allocate import Offer, unit_variance
from privbayes.measure.marginals import Groups
from privbayes.model.columns import Columns
from privbayes.privacy.unit import PrivacyUnit
from privbayes.structure.groupings import Grouping, groupings
from privbayes.structure.links import Links

__all__ = ["FINENESSES", "Ware", "column_wares", "pair_wares"]

FINENESSES = (12, 8, 6, 4, 3, 2)  # groups of values, besides the values themselves
_MANY = 5_000  # pairs, above which every other fineness is enough
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
    pure: bool,
    finenesses: tuple[int, ...],
) -> list[Ware]:
    """Every pair as one item, over its values and over groups of them. A table over groups takes away only a part of
    the error, but has less noise, and fewer cells to put it on.
    """
    if len(links.pairs) > _MANY:
        finenesses = finenesses[::2]
    levels = [
        groupings(attribute, shares, finenesses)
        for attribute, shares in zip(domain.attributes, columns.shares, strict=True)
    ]
    wares = []
    for item, (pair, error) in enumerate(zip(links.pairs, links.errors.tolist(), strict=True)):
        axes = tuple(domain.axis(a) for a in pair)
        for choice in product(*(levels[a] for a in pair)):
            whole = all(one is levels[a][0] for a, one in zip(pair, choice, strict=True))
            if not whole and not error > 0:
                continue  # nothing to gain, at any price
            weight = workload.of_table(pair)
            offer = _offer(item, choice, pair, columns, unit, error=error, weight=weight, pure=pure)
            wares.append(Ware(axes=axes, groups=None if whole else tuple(one.codes for one in choice), offer=offer))
    return wares


def column_wares(
    domain: Domain, columns: Columns, workload: Workload, unit: PrivacyUnit, *, pure: bool, first_item: int
) -> list[Ware]:
    """Every column of more than one value once more: it is part of as many pairs as there are other columns."""
    wares = []
    for a, size in enumerate(domain.cardinalities):
        if size == 1:
            continue
        coordinates = Coordinates.of([size], pure=pure)
        offer = Offer(
            item=first_item + a,
            shape=coordinates.shape,
            expected=columns.expected([a]),
            error=0.0,
            weight=workload.of_table([a]),
            unit=unit_variance(coordinates, unit, pure=pure),
            precision=1 / columns.variances[a],
        )
        wares.append(Ware(axes=(domain.axis(a),), groups=None, offer=offer))
    return wares


def _offer(
    item: int,
    choice: tuple[Grouping, ...],
    pair: tuple[int, ...],
    columns: Columns,
    unit: PrivacyUnit,
    *,
    error: float,
    weight: float,
    pure: bool,
) -> Offer:
    coordinates = Coordinates.of([one.size for one in choice], pure=pure)
    return Offer(
        item=item,
        shape=coordinates.shape,
        expected=columns.expected(pair, tuple(one.codes for one in choice)),
        error=error * prod(one.captured for one in choice) ** _LOSS,
        weight=weight,
        unit=unit_variance(coordinates, unit, pure=pure),
    )
