"""INFER jointly: the maximum-entropy distribution on a junction tree that agrees with noisy tables as far as their
noise deserves.

Relative to the product of the columns q, minimise n log Z(theta) - theta . y + 1/2 sum of ridge_c theta_c^2 over the
potentials theta of all observations: the dual of a quadratic misfit plus entropy, strictly convex on the centred space.
A ridge equal to the noise variance v would be that dual as it stands. A cell that moves by a factor of about delta has
the Wiener ridge v / (E delta^2), E being its expected count; used is the geometric mean with the noise's deviation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.clique_tree import CliqueTree
from privbayes.model.descent import minimise
from privbayes.model.observations import Observation
from privbayes.model.propagation import Propagation, Slots

__all__ = ["COLUMN_RIDGE", "FitReport", "TreeFit", "fit_tree"]

_RIDGE = 0.4  # of the geometric mean
COLUMN_RIDGE = 0.05  # of the deviation, for single columns that were bought well
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

    def parameters(self, point: Table) -> Table:
        """The potentials at a point of the descent: of centred observations, centred."""
        from privbayes.model.max_entropy_kernels import centre

        theta: Table = point / np.sqrt(self.curvature)
        centre(theta, self.start, self.lengths)
        return theta


def fit_tree(
    engine: Propagation,
    columns: Sequence[Table],
    total: float,
    observations: Sequence[Observation],
    *,
    passes: int = PASSES,
    column_ridge: float = COLUMN_RIDGE,
    progress: Callable[[int, int], None] | None = None,
    start: TreeFit | None = None,
) -> TreeFit:
    """The fit to observations that lie inside the tree's cliques. The same inputs give the same fit. With a ``start``,
    a fit on the same tree, entropy is relative to that instead of the columns' product.
    """
    from privbayes.model.max_entropy_kernels import spread

    if (
        not 0.0 < total < inf
        or [len(q) for q in columns] != list(engine.sizes)
        or not all(np.all(q > 0) for q in columns)
    ):
        raise ValueError("a fit needs a positive total, and a positive share for every value of every column")
    layout = _lay_out(engine, columns, total, observations, start, column_ridge)
    ones = engine.slots([(a,) for a in range(len(columns))])
    logs = np.log(np.concatenate([columns[slot[0]] for slot in ones.attributes]))
    base = engine.log_weights(ones, logs)
    began = np.zeros(layout.slots.cells)
    if start is not None:
        began[: len(start.potentials) - len(logs)] = start.potentials[len(logs) :]  # its slots come first
        base = base + engine.log_weights(layout.slots, began)
    found = minimise(
        _objective(engine, base, total, layout),
        np.zeros(len(layout.observed)),
        passes=passes,
        slope_tolerance=_SLOPE,
        value_tolerance=_VALUE,
        report=None if progress is None else (lambda used: progress(min(used, passes), passes)),
    )
    potentials = np.zeros(layout.slots.cells)
    spread(layout.parameters(found.point), layout.source, layout.target, potentials)
    largest = float(np.abs(found.slope).max(initial=0.0))
    return TreeFit(
        tree=engine.tree,
        slots=(*ones.attributes, *layout.slots.attributes),
        potentials=np.concatenate([logs, began + potentials]),
        report=FitReport(passes=found.passes, slope=largest, converged=found.converged, cells=engine.cells),
    )


def _objective(
    engine: Propagation, base: Table, total: float, layout: _Layout
) -> Callable[[Table], tuple[float, Table]]:
    """What is minimised, with its slope, as a function of the potentials in units of their curvature."""
    from privbayes.model.max_entropy_kernels import centre, gather, misfit, spread

    scale = np.sqrt(layout.curvature)
    potentials = np.zeros(layout.slots.cells)
    predicted = np.zeros(len(scale))

    def objective(point: Table) -> tuple[float, Table]:
        theta = layout.parameters(point)
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

    return objective


def _lay_out(
    engine: Propagation,
    columns: Sequence[Table],
    total: float,
    observations: Sequence[Observation],
    start: TreeFit | None = None,
    column_ridge: float = COLUMN_RIDGE,
) -> _Layout:
    wanted = _maximal([frozenset(one.attributes) for one in observations])
    if start is not None:
        wanted = list(dict.fromkeys([*map(frozenset, start.slots[len(columns) :]), *wanted]))
    slots = engine.slots([sorted(members) for members in wanted])
    holders = _holders(slots)
    sizes = [prod(one.table.shape) for one in observations]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    lengths = np.zeros((len(observations), max((one.table.ndim for one in observations), default=1)), np.int64)
    source, target, observed, ridge, curvature = [], [], [], [], []
    for o, one in enumerate(observations):
        place = holders[frozenset(one.attributes)]
        slot = slots.attributes[place]
        own = [a for a in slot if a in one.attributes]
        order = [one.attributes.index(a) for a in own]
        table = np.transpose(one.table, order)
        if one.centred:
            lengths[o, : table.ndim] = table.shape
        groups = {attribute: one.values(i) for i, attribute in enumerate(one.attributes)}
        if any(len(group) != engine.sizes[attribute] for attribute, group in groups.items()):
            raise ValueError("an observation does not match the values of its attributes")
        lengths_of = dict(zip(own, table.shape, strict=True))
        cells = np.zeros(1, np.int64)
        counts = np.array([float(total)])
        for attribute in slot:
            if attribute not in groups:  # the same for each of its values
                cells = np.repeat(cells, engine.sizes[attribute])
                continue
            group, length = groups[attribute], lengths_of[attribute]
            cells = (cells[:, None] * length + group).ravel()
            counts = np.multiply.outer(counts, np.bincount(group, columns[attribute], length)).ravel()
        source.append(first[o] + cells)
        target.append(slots.start[place] + np.arange(len(cells)))
        observed.append(table.ravel())
        ridge.append(_ridge(one, counts, column_ridge))
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


def _maximal(sets: Sequence[frozenset[int]]) -> list[frozenset[int]]:
    """The sets that no other one contains: what is said of a small one is added to the table of a large one."""
    found: list[frozenset[int]] = []
    inside: set[frozenset[int]] = set()
    for members in sorted(dict.fromkeys(sets), key=len, reverse=True):
        if members not in inside:
            found.append(members)
            inside.update(_subsets(members))
    return found


def _holders(slots: Slots) -> dict[frozenset[int], int]:
    """For every set of attributes inside a slot, the slot of fewest cells that holds it."""
    found: dict[frozenset[int], int] = {}
    for s in sorted(range(len(slots.attributes)), key=lambda s: -(slots.start[s + 1] - slots.start[s])):
        found.update(dict.fromkeys(_subsets(frozenset(slots.attributes[s])), s))
    return found


def _subsets(members: frozenset[int]) -> Iterator[frozenset[int]]:
    return (frozenset(kept) for k in range(1, len(members) + 1) for kept in combinations(sorted(members), k))


def _ridge(one: Observation, expected: Table, column_ridge: float) -> Table:
    deviation = np.sqrt(one.variance)
    if len(one.attributes) == 1:
        return np.full(len(expected), column_ridge * deviation)
    wiener = one.variance / (np.maximum(expected, _FLOOR * deviation) * one.strength**2)
    ridge: Table = _RIDGE * np.sqrt(wiener * deviation)
    return ridge


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([np.empty(0), *parts])
