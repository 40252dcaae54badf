"""The interaction part of a table: what is left when the mean along every axis is taken off. In integers, and back.

P = the Kronecker product of I - 11'/r over the axes projects a table on it. A table is released through *coordinates*,
one integer matrix A an axis, and read back by B with B A = I - 11'/r:

    "contrast"  r = 2:  A = (1, -1), one coordinate instead of two;   B = (1, -1)' / 2
    "residual"          A = r I - 11', so that r P stays whole;        B = (I - 11'/r) / r
    "whole"             A = I, the counts as they are;                 B = I - 11'/r

Noise of variance s^2 on each coordinate comes back as v P with v = s^2 times 1/2, 1/r^2 or 1 for each axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coordinates", "centred", "pooled"]

FORMS = ("contrast", "residual", "whole")


def centred(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """P applied to a table: the mean along every axis taken off."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


def pooled(table: NDArray[Any], groups: Sequence[NDArray[np.int64]]) -> NDArray[Any]:
    """The table over groups: for each axis, the group of every code, all groups 0, 1, 2, ... present."""
    for axis, group in enumerate(groups):
        members = (group == np.arange(group.max() + 1)[:, None]).astype(table.dtype)
        table = np.moveaxis(np.tensordot(members, table, (1, axis)), 0, axis)
    return table


@dataclass(frozen=True)
class Coordinates:
    """The integer coordinates of the interaction part of tables of one shape; ``forms`` has one form an axis."""

    shape: tuple[int, ...]
    forms: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.shape) != len(self.forms) or not set(self.forms) <= set(FORMS):
            raise ValueError("one form an axis: contrast, residual or whole")
        if any(form == "contrast" and size != 2 for form, size in zip(self.forms, self.shape, strict=True)):
            raise ValueError("a contrast is for two values")

    @staticmethod
    def of(shape: Sequence[int], *, pure: bool) -> Coordinates:
        """What costs least: contrasts for two values; otherwise residuals under Gaussian noise, whose L2 norm they
        lower, and whole counts under Laplace noise, whose L1 norm they would raise.
        """
        other = "whole" if pure else "residual"
        return Coordinates(tuple(shape), tuple("contrast" if size == 2 else other for size in shape))

    @property
    def size(self) -> int:
        """How many coordinates there are."""
        return prod(self._lengths)

    @property
    def _lengths(self) -> tuple[int, ...]:
        return tuple(1 if form == "contrast" else size for form, size in zip(self.forms, self.shape, strict=True))

    @property
    def variance_factor(self) -> float:
        """What the noise variance of a coordinate is multiplied by to give v."""
        return prod(axis.variance for axis in self._axes)

    def encode(self, table: NDArray[np.int64]) -> NDArray[np.int64]:
        """The coordinates of a table of counts, flat."""
        values = table.reshape(self.shape)
        for axis, (form, size) in enumerate(zip(self.forms, self.shape, strict=True)):
            if form == "contrast":
                values = values.take([0], axis) - values.take([1], axis)
            elif form == "residual":
                values = size * values - values.sum(axis=axis, keepdims=True)
        return np.ascontiguousarray(values, np.int64).ravel()

    def decode(self, values: NDArray[np.integer] | NDArray[np.float64]) -> NDArray[np.float64]:
        """The interaction part that coordinates (noisy or not) stand for, in the shape of the table."""
        table = np.asarray(values, np.float64).reshape(self._lengths)
        for axis, (form, size) in enumerate(zip(self.forms, self.shape, strict=True)):
            if form == "contrast":
                table = np.concatenate([table, -table], axis=axis) / 2
            else:
                table = table - table.mean(axis=axis, keepdims=True)
                if form == "residual":
                    table = table / size
        return table

    @property
    def unit(self) -> float:
        """How many rows of a cell one step of a coordinate stands for."""
        return prod(axis.unit for axis in self._axes)

    @property
    def column_l1(self) -> int:
        """L1 norm of the coordinates of one row."""
        return prod(axis.l1 for axis in self._axes)

    @property
    def column_l2_squared(self) -> int:
        """Squared L2 norm of the coordinates of one row."""
        return prod(axis.same for axis in self._axes)

    @property
    def pair_l2_squared(self) -> int:
        """The largest squared L2 distance between the coordinates of two rows: 2 (norm - least inner product)."""
        least = min(
            (
                prod(axis.other if moved else axis.same for axis, moved in zip(self._axes, moves, strict=True))
                for moves in product((False, True), repeat=len(self.shape))
                if any(moves) and not any(moved and size == 1 for moved, size in zip(moves, self.shape, strict=True))
            ),
            default=self.column_l2_squared,
        )
        return 2 * (self.column_l2_squared - least)

    @property
    def _axes(self) -> tuple[_Axis, ...]:
        return tuple(_axis(form, size) for form, size in zip(self.forms, self.shape, strict=True))


@dataclass(frozen=True)
class _Axis:
    """Norms of a column of A: L1, squared L2 (``same``), inner product with another column; v over s^2; and the largest
    entry of B on the diagonal, centring aside.
    """

    l1: int
    same: int
    other: int
    variance: float
    unit: float


def _axis(form: str, r: int) -> _Axis:
    if form == "contrast":
        return _Axis(1, 1, -1, 1 / 2, 1 / 2)
    if form == "residual":
        return _Axis(2 * (r - 1), r * (r - 1), -r, 1 / r**2, 1 / r)
    return _Axis(1, 1, 0, 1.0, 1.0)
