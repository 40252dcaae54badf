"""INFER jointly: the maximum-entropy distribution on a junction tree that agrees with noisy tables as far as their
noise deserves.

Relative to the product of the columns q, minimise n log Z(theta) - theta . y + 1/2 sum of ridge_c theta_c^2 over the
potentials theta of all observations: the dual of a quadratic misfit plus entropy, strictly convex on the centred space.
A ridge equal to the noise variance v would be that dual as it stands. A cell that moves by a factor of about delta has
the Wiener ridge v / (E delta^2), E being its expected count; used is the geometric mean with the noise's deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.model.descent import minimise
from privbayes.model.observations import Observation
from privbayes.model.propagation import Propagation, Slots

__all__ = ["FitReport", "TreeFit", "fit_tree"]

_RIDGE = 0.4  # of the geometric mean
_RIDGE_COLUMN = 0.05  # of the deviation, for single columns: they are bought well
PASSES = 800  # over the tree
_SLOPE = 1e-3  # of a deviation
_VALUE = 1e-13
_LEAST = 0.1  # a cell is not thought to hold less than this part of what independence says
_FLOOR = 0.01  # an expected count below this part of the deviation counts as this part

Table = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FitReport:
    """How the fit ended: passes over the tree, the largest slope left (in deviations of a count), whether it converged
    before its passes were used up, and the cells of the tree.
    """

    passes: int
    slope: float
    converged: bool
    cells: int

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"passes": self.passes, "slope": self.slope, "converged": self.converged, "cells": self.cells}


@dataclass(frozen=True, kw_only=True, eq=False)
class TreeFit:
    """A distribution on a junction tree: exp of the sum of the potentials of its slots, tables inside cliques laid end
    to end; the first slots are the single columns.
    """

    tree: CliqueTree
    slots: tuple[tuple[int, ...], ...]
    potentials: Table
    report: FitReport


@dataclass(frozen=True, eq=False)
class _Layout:
    """The observations' parameters laid end to end, and how they meet the slots of the tree."""

    start: NDArray[np.int64]
    lengths: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    observed: Table
    ridge: Table
    curvature: Table
    slots: Slots = field(repr=False)


def fit_tree(
    engine: Propagation,
    columns: Sequence[Table],
    total: float,
    observations: Sequence[Observation],
    *,
    passes: int = PASSES,
    progress: Callable[[int, int], None] | None = None,
    start: TreeFit | None = None,
) -> TreeFit:
    """The fit to observations that lie inside the tree's cliques. The same inputs give the same fit. With a ``start``,
    a fit on the same tree, entropy is relative to that instead of the columns' product.
    """
    from privbayes.model.max_entropy_kernels import centre, gather, misfit, spread

    layout = _lay_out(engine, columns, total, observations, start)
    ones = engine.slots([(a,) for a in range(len(columns))])
    logs = np.log(np.concatenate([columns[slot[0]] for slot in ones.attributes]))
    base = engine.log_weights(ones, logs)
    began = np.zeros(layout.slots.cells)
    if start is not None:
        began[: len(start.potentials) - len(logs)] = start.potentials[len(logs) :]  # its slots come first
        base = base + engine.log_weights(layout.slots, began)
    scale = np.sqrt(layout.curvature)
    potentials = np.zeros(layout.slots.cells)
    predicted = np.zeros(len(scale))

    def parameters(point: Table) -> Table:
        theta = point / scale
        centre(theta, layout.start, layout.lengths)
        return theta

    def objective(point: Table) -> tuple[float, Table]:
        theta = parameters(point)
        spread(theta, layout.source, layout.target, potentials)
        log_z = engine.infer(base + engine.log_weights(layout.slots, potentials))
        if not np.isfinite(log_z):
            return inf, np.zeros_like(point)
        gather(engine.marginals(layout.slots), layout.source, layout.target, predicted)
        slope = np.empty_like(point)
        value = total * log_z + misfit(theta, predicted, layout.observed, layout.ridge, total, slope)
        centre(slope, layout.start, layout.lengths)
        slope /= scale
        return float(value), slope

    found = minimise(
        objective,
        np.zeros(len(scale)),
        passes=passes,
        slope_tolerance=_SLOPE,
        value_tolerance=_VALUE,
        report=None if progress is None else (lambda used: progress(min(used, passes), passes)),
    )
    spread(parameters(found.point), layout.source, layout.target, potentials)
    largest = float(np.abs(found.slope).max(initial=0.0))
    return TreeFit(
        tree=engine.tree,
        slots=(*ones.attributes, *layout.slots.attributes),
        potentials=np.concatenate([logs, began + potentials]),
        report=FitReport(passes=found.passes, slope=largest, converged=found.converged, cells=engine.cells),
    )


def _lay_out(
    engine: Propagation,
    columns: Sequence[Table],
    total: float,
    observations: Sequence[Observation],
    start: TreeFit | None,
) -> _Layout:
    wanted = list(dict.fromkeys(frozenset(one.attributes) for one in observations))
    if start is not None:
        wanted = list(dict.fromkeys([*map(frozenset, start.slots[len(columns) :]), *wanted]))
    slots = engine.slots([sorted(members) for members in wanted])
    sizes = [prod(one.table.shape) for one in observations]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    lengths = np.zeros((len(observations), 3), np.int64)
    source, target, observed, ridge, curvature = [], [], [], [], []
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
        source.append(first[o] + cells)
        target.append(slots.start[slots.place[frozenset(one.attributes)]] + np.arange(len(cells)))
        observed.append(table.ravel())
        ridge.append(_ridge(one, counts))
        seen = table.ravel() + (counts if one.centred else 0.0)
        curvature.append(np.maximum(seen, _LEAST * counts) + ridge[-1] + 1.0)
    return _Layout(
        start=first,
        lengths=lengths,
        source=_joined(source).astype(np.int64),
        target=_joined(target).astype(np.int64),
        observed=_joined(observed),
        ridge=_joined(ridge),
        curvature=_joined(curvature),
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
