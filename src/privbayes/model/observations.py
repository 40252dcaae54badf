"""What a noisy table says about the counts behind it: the form in which every joint fit takes what was bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from math import prod
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.core.residuals import Coordinates, centred
from privbayes.privacy.released import Measurement

__all__ = ["FORMS", "Form", "Groups", "Observation", "combined", "excess_error", "interactions", "observed", "parts"]

# How the released integers stand for a table: its counts, or the coordinates of its interaction part as they are
# bought under Gaussian noise ("residual") or Laplace noise ("whole"), see `core/residuals.py`; "blocks" are counts of
# which only the interaction parts of columns and pairs are used, single columns being bought as "whole".
Form = Literal["counts", "residual", "whole", "blocks"]
FORMS: tuple[Form, ...] = get_args(Form)

_LEAST_VARIANCE = 1e-12  # scripted noise has none
_ABSOLUTE = 0.8  # E|N(0, 1)|

Table = NDArray[np.float64]
Groups = tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Observation:
    """A noisy table over attributes (one axis each, in this order).

    centred: only its interaction part was bought, with noise ``variance`` times the projection; otherwise the counts
    themselves, with noise of that variance on each cell. ``strength`` is delta: by what share its cells are thought to
    differ from independence. ``groups`` gives, for each axis, the group of every value where the table is over groups.
    """

    attributes: tuple[int, ...]
    table: Table
    variance: float
    strength: float = 0.1
    centred: bool = True
    groups: tuple[NDArray[np.int64], ...] | None = None


def observed(
    domain: Domain,
    axes: Sequence[int],
    measurement: Measurement,
    form: Form,
    groups: Groups | None = None,
) -> Observation:
    """The released integers of a table over these axes (or groups of their codes), read back."""
    shape = [int(group.max()) + 1 for group in groups] if groups else [int(domain.axis_size[axis]) for axis in axes]
    table, factor = measurement.values.astype(np.float64), 1.0
    if form == "counts" or (form == "blocks" and len(axes) > 1):
        table = table.reshape(shape)
    else:
        coordinates = Coordinates.of(shape, pure=form != "residual")
        if coordinates.size != table.size:
            raise ValueError("a table does not match its axes")
        table, factor = coordinates.decode(table), coordinates.variance_factor
    coarse = any(domain.axis_level(axis) for axis in axes)
    if coarse:
        lifted = [domain.axis_codes(axis) for axis in axes]
        groups = tuple(group[codes] for group, codes in zip(groups, lifted, strict=True)) if groups else tuple(lifted)
    return Observation(
        attributes=tuple(int(domain.axis_attribute[axis]) for axis in axes),
        table=table,
        variance=max(measurement.variance * factor, _LEAST_VARIANCE),
        centred=form != "counts" and (form != "blocks" or len(axes) == 1),
        groups=groups,
    )


def interactions(observations: Sequence[Observation]) -> list[Observation]:
    """Blocks as their parts; several of one table as one."""
    return combined([part for one in observations for part in ([one] if one.centred else parts(one))])


def parts(one: Observation) -> list[Observation]:
    """A table of counts as the interaction parts of its columns and of its pairs of columns: sums over the other axes,
    whose noise adds up, and projections of them, between which the noise is not correlated.
    """
    found = []
    for kept in chain(*(combinations(range(one.table.ndim), k) for k in (1, 2))):
        rest = tuple(axis for axis in range(one.table.ndim) if axis not in kept)
        found.append(
            replace(
                one,
                attributes=tuple(one.attributes[axis] for axis in kept),
                table=centred(one.table.sum(axis=rest)),
                variance=one.variance * prod(one.table.shape[axis] for axis in rest),
                centred=True,
                groups=one.groups and tuple(one.groups[axis] for axis in kept),
            )
        )
    return found


def combined(observations: Sequence[Observation]) -> list[Observation]:
    """Several purchases of one table as one, weighted by the inverse of their variances; attributes ascending."""
    found: dict[tuple[Any, ...], Observation] = {}
    for one in map(_ascending, observations):
        levels = tuple(tuple(group.tolist()) for group in one.groups or ())
        key = (one.attributes, one.centred, levels)
        other = found.get(key)
        if other is not None:
            a, b = 1 / other.variance, 1 / one.variance
            one = replace(one, table=(a * other.table + b * one.table) / (a + b), variance=1 / (a + b))
        found[key] = one
    return list(found.values())


def _ascending(one: Observation) -> Observation:
    order = np.argsort(one.attributes)
    return replace(
        one,
        attributes=tuple(one.attributes[i] for i in order),
        table=np.transpose(one.table, order),
        groups=one.groups and tuple(one.groups[i] for i in order),
    )


def excess_error(one: Observation, expected: Table) -> float:
    """The L1 error (in rows) that the table itself shows beyond its noise, if it is spread in proportion to the counts
    ``expected`` of its cells: E|x| of a normal x with the deviation that explains the excess of squares.
    """
    freedom = prod(size - 1 for size in one.table.shape)
    excess = max(float((one.table**2).sum()) - one.variance * freedom, 0.0)
    return _ABSOLUTE * float(expected.sum()) * float(np.sqrt(excess / (expected**2).sum()))
