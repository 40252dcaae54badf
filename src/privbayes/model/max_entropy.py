"""INFER jointly: the maximum-entropy distribution on a junction tree that agrees with noisy tables as far as their noise
deserves.

Relative to the product of the columns q, minimise n log Z(theta) - theta . y + 1/2 sum of ridge_c theta_c^2 over the
potentials theta of all observations: the dual of a quadratic misfit plus entropy, strictly convex on the centred space.
A ridge equal to the noise variance v would be that dual as it stands. A cell that moves by a factor of about delta has
the Wiener ridge v / (E delta^2), E being its expected count; used is the geometric mean with the noise's deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.model.propagation import Propagation, Slots

__all__ = ["FitReport", "Observation", "combined", "fit_potentials"]

_RIDGE = 0.4  # of the geometric mean
_RIDGE_COLUMN = 0.05  # of the deviation, for single columns: they are bought well
_MEMORY = 12
_FLOOR = 0.01  # an expected count below this part of the deviation counts as this part

Table = NDArray[np.float64]


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


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """How the fit ended: passes over the tree, the largest slope left (in standard deviations), whether it converged."""

    passes: int
    slope: float
    converged: bool
    cells: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"passes": self.passes, "slope": self.slope, "converged": self.converged, "cells": self.cells}


@dataclass(frozen=True, eq=False)
class _Layout:
    """The observations' parameters laid end to end, and how they meet the slots of the tree."""

    start: NDArray[np.int64]
    lengths: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    observed: Table
    ridge: Table
    expected: Table
    slots: Slots = field(repr=False)


def combined(observations: Sequence[Observation]) -> list[Observation]:
    """Several purchases of one table as one, weighted by the inverse of their variances."""
    found: dict[tuple[Any, ...], Observation] = {}
    for one in observations:
        order = np.argsort(one.attributes)
        groups = one.groups and tuple(one.groups[i] for i in order)
        one = Observation(
            attributes=tuple(one.attributes[i] for i in order),
            table=np.transpose(one.table, order),
            variance=one.variance,
            strength=one.strength,
            centred=one.centred,
            groups=groups,
        )
        key = (one.attributes, one.centred, groups and tuple(tuple(group.tolist()) for group in groups))
        if key in found:
            other = found[key]
            a, b = 1 / other.variance, 1 / one.variance
            one = Observation(
                attributes=one.attributes,
                table=(a * other.table + b * one.table) / (a + b),
                variance=1 / (a + b),
                strength=one.strength,
                centred=one.centred,
                groups=groups,
            )
        found[key] = one
    return list(found.values())


def fit_potentials(
    engine: Propagation,
    columns: Sequence[Table],
    total: float,
    observations: Sequence[Observation],
    *,
    iterations: int = 800,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Slots, Table, FitReport]:
    """Slots, the potentials over them (columns included), and how the fit ended. Leaves the engine calibrated."""
    from scipy.optimize import minimize

    from privbayes.model.max_entropy_kernels import centre, gather, spread

    layout = _lay_out(engine, columns, total, observations)
    ones = engine.slots([(a,) for a in range(len(columns))])
    base = engine.log_weights(ones, np.log(np.concatenate([columns[slot[0]] for slot in ones.attributes])))
    scale = np.sqrt(layout.expected + layout.ridge + 1.0)
    potentials = np.zeros(layout.slots.cells)
    predicted = np.zeros(len(scale))
    passes = 0

    def parameters(point: Table) -> Table:
        theta = point / scale
        centre(theta, layout.start, layout.lengths)
        return theta

    def objective(point: Table) -> tuple[float, Table]:
        nonlocal passes
        passes += 1
        theta = parameters(point)
        spread(theta, layout.source, layout.target, potentials)
        log_z = engine.infer(base + engine.log_weights(layout.slots, potentials))
        if not np.isfinite(log_z):
            return 1e300, np.zeros_like(point)
        gather(engine.marginals(layout.slots), layout.source, layout.target, predicted)
        slope = total * predicted - layout.observed + layout.ridge * theta
        centre(slope, layout.start, layout.lengths)
        value = total * log_z - theta @ layout.observed + 0.5 * float((layout.ridge * theta * theta).sum())
        return float(value), slope / scale

    def report(_: Table) -> None:
        if progress is not None:
            progress(min(passes, iterations), iterations)

    best = np.zeros(len(scale))
    largest, converged = 0.0, True
    if len(scale):
        options = {"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": _MEMORY, "ftol": 1e-13, "gtol": 1e-3}
        found = minimize(objective, best, jac=True, method="L-BFGS-B", options=options, callback=report)
        best, converged = found.x, bool(found.success)
        largest = float(np.abs(objective(best)[1]).max())
    spread(parameters(best), layout.source, layout.target, potentials)
    both = engine.slots([*ones.attributes, *layout.slots.attributes])
    values = np.concatenate([np.log(np.concatenate([columns[slot[0]] for slot in ones.attributes])), potentials])
    engine.infer(engine.log_weights(both, values))
    return both, values, FitReport(passes=passes, slope=largest, converged=converged, cells=engine.cells)


def _lay_out(
    engine: Propagation, columns: Sequence[Table], total: float, observations: Sequence[Observation]
) -> _Layout:
    wanted = list(dict.fromkeys(frozenset(one.attributes) for one in observations))
    slots = engine.slots([sorted(members) for members in wanted])
    sizes = [prod(one.table.shape) for one in observations]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    lengths = np.zeros((len(observations), 3), np.int64)
    source, target, observed, ridge, expected = [], [], [], [], []
    for o, one in enumerate(observations):
        slot = slots.attributes[slots.place[frozenset(one.attributes)]]
        order = [one.attributes.index(a) for a in slot]
        table = np.transpose(one.table, order)
        if one.centred:
            lengths[o] = (*table.shape, *([1] * (3 - table.ndim)))
        groups = [one.groups[i] if one.groups else np.arange(engine.sizes[a]) for i, a in zip(order, slot, strict=True)]
        cells = np.zeros(1, np.int64)
        counts = np.array([float(total)])
        for attribute, group, length in zip(slot, groups, table.shape, strict=True):
            cells = (cells[:, None] * length + group).ravel()
            counts = np.multiply.outer(counts, np.bincount(group, columns[attribute], length)).ravel()
        source.append(start[o] + cells)
        target.append(slots.start[slots.place[frozenset(one.attributes)]] + np.arange(len(cells)))
        observed.append(table.ravel())
        expected.append(counts)
        ridge.append(_ridge(one, counts))
    return _Layout(
        start=start,
        lengths=lengths,
        source=_joined(source).astype(np.int64),
        target=_joined(target).astype(np.int64),
        observed=_joined(observed),
        ridge=_joined(ridge),
        expected=_joined(expected),
        slots=slots,
    )


def _ridge(one: Observation, expected: Table) -> Table:
    deviation = np.sqrt(one.variance)
    if len(one.attributes) == 1:
        return np.full(len(expected), _RIDGE_COLUMN * deviation)
    wiener = one.variance / (np.maximum(expected, _FLOOR * deviation) * one.strength**2)
    ridge: Table = _RIDGE * np.sqrt(wiener * deviation)
    return ridge


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.empty(0), *parts])
