"""Minimising a smooth convex function of many variables: L-BFGS (Liu and Nocedal 1989) with a weak Wolfe line search.

Written out because it has to give the same answer each time and to run beside itself: the usual libraries sum in an
order that depends on the number of threads, and keep all cores spinning while they do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

__all__ = ["Descent", "minimise"]

_MEMORY = 40
_DECREASE, _CURVATURE = 1e-4, 0.9  # the constants of Wolfe's conditions
_TRIALS = 30

Vector = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Descent:
    """Where the descent ended, its slope there, how often the function was asked, and whether it had converged."""

    point: Vector
    slope: Vector
    passes: int
    converged: bool


def minimise(
    function: Callable[[Vector], tuple[float, Vector]],
    start: Vector,
    *,
    passes: int,
    slope_tolerance: float,
    value_tolerance: float,
    report: Callable[[int], None] | None = None,
) -> Descent:
    """``function`` gives value and slope (a new array each time). Ends when no component of the slope is above
    ``slope_tolerance``, when a step gains less than ``value_tolerance`` of the value, or after about so many passes.
    """
    from privbayes.model.descent_kernels import dot, newton_direction

    point = start.copy()
    value, slope = function(point)
    if not isfinite(value):
        raise ValueError("the descent must start where the function has a value")
    used, stored, converged = 1, 0, False
    steps, turns = np.zeros((_MEMORY, len(point))), np.zeros((_MEMORY, len(point)))
    curvature = np.ones(_MEMORY)
    direction = np.empty_like(point)
    while used < passes:
        if np.abs(slope).max(initial=0.0) <= slope_tolerance:
            converged = True
            break
        newton_direction(slope, steps, turns, curvature, stored, direction)
        incline = dot(slope, direction)
        if incline >= 0.0:  # rounding has spoilt the memory: start over
            stored = 0
            newton_direction(slope, steps, turns, curvature, stored, direction)
            incline = dot(slope, direction)
        length = 1.0 if stored else min(1.0, 1.0 / np.sqrt(dot(slope, slope)))
        low, high = 0.0, inf
        for _ in range(_TRIALS):
            trial = point + length * direction
            new_value, new_slope = function(trial)
            used += 1
            if not isfinite(new_value) or new_value > value + _DECREASE * length * incline:
                high = length
            elif dot(new_slope, direction) < _CURVATURE * incline:
                low = length
            else:
                break
            length = 2.0 * length if high == inf else 0.5 * (low + high)
        else:
            if stored:  # perhaps the memory is to blame: try straight down
                stored = 0
                continue
            converged = True  # no step is left that rounding would not swallow
            break
        step, turn = trial - point, new_slope - slope
        bend = dot(step, turn)
        if bend > 0.0:  # otherwise it would spoil what is remembered
            slot = stored % _MEMORY
            steps[slot], turns[slot], curvature[slot] = step, turn, bend
            stored += 1
        gained = value - new_value
        point, value, slope = trial, new_value, new_slope
        if report is not None:
            report(used)
        if gained <= value_tolerance * max(abs(value), 1.0):
            converged = True
            break
    return Descent(point=point, slope=slope, passes=used, converged=converged)
