"""INFER ordered columns: what neighbouring values of a noisy column say of each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from privbayes.core.domain import Attribute
from privbayes.model.observations import Observation

__all__ = ["is_ordered", "smoothed"]

_STEPS = np.append(np.geomspace(0.02, 30.0, 16), 1e9)  # of the noise's deviation; the last one leaves all as it is
_LEAST = 0.05  # of the variance is kept: the law of the steps is an assumption


def is_ordered(attribute: Attribute) -> bool:
    """Whether the attribute has a hierarchy whose groups are runs of codes: numbers, dates, ordinals."""
    return attribute.height > 1 and all(np.all(np.diff(level) >= 0) for level in attribute.levels)


def smoothed(one: Observation) -> Observation:
    """A column's noisy deviations from the mean at their posterior mean, if its counts are a random walk along the
    codes. The deviation of a step is the likeliest of a grid, so that a column that jumps is left as it is.
    """
    size = len(one.table)
    steps = np.diff(np.eye(size), axis=0)
    roughness, directions = np.linalg.eigh(steps.T @ steps)
    spread, basis = 1 / roughness[1:], directions[:, 1:]  # of a walk of unit steps, its mean taken off
    seen = basis.T @ one.table
    walks = _STEPS[:, None] ** 2 * one.variance * spread
    total = walks + one.variance
    likelihood = -0.5 * (seen**2 / total + np.log(total)).sum(axis=1)
    kept = (walks / total)[int(np.argmax(likelihood))]
    return replace(one, table=basis @ (kept * seen), variance=one.variance * max(float(kept.mean()), _LEAST))
