"""The modelled domain: attributes, how many values each has, and how its values generalise level by level."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

__all__ = ["Attribute", "Domain"]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """One modelled attribute X with codes 0 .. cardinality-1.

    ``levels[i][code]`` is the code of X^(i), the i-th generalisation; ``levels[0]`` is the identity and levels only
    get coarser. Everything here is a fact of the schema.
    """

    name: str
    levels: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.levels or not self.levels[0]:
            raise ValueError(f"attribute {self.name!r} needs at least one level and one value")
        if self.levels[0] != tuple(range(len(self.levels[0]))):
            raise ValueError(f"attribute {self.name!r}: level 0 must be the identity")
        for finer, coarser in zip(self.levels, self.levels[1:], strict=False):
            if len(coarser) != len(finer) or len(set(zip(finer, coarser, strict=True))) != len(set(finer)):
                raise ValueError(f"attribute {self.name!r}: a level splits a group of the level below it")
        for level in self.levels:
            if set(level) != set(range(max(level) + 1)):
                raise ValueError(f"attribute {self.name!r}: the codes of a level must be 0, 1, 2, ...")

    @staticmethod
    def flat(name: str, cardinality: int) -> Attribute:
        """An attribute without generalisations."""
        return Attribute(name=name, levels=(tuple(range(cardinality)),))

    @property
    def cardinality(self) -> int:
        """|dom(X)|."""
        return len(self.levels[0])

    @cached_property
    def level_sizes(self) -> tuple[int, ...]:
        """|dom(X^(i))| for each level i."""
        return tuple(max(level) + 1 for level in self.levels)

    @property
    def height(self) -> int:
        """Number of levels, the original one included."""
        return len(self.levels)


@dataclass(frozen=True)
class Domain:
    """The attributes in order. An *axis* is one attribute at one level; axes are numbered 0, 1, 2, ... so that sets of
    generalised attributes are plain integer arrays: attribute 0 level 0, attribute 0 level 1, ..., then attribute 1.
    """

    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) != len(names):
            raise ValueError("attribute names must be distinct")

    def __len__(self) -> int:
        return len(self.attributes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @cached_property
    def cardinalities(self) -> tuple[int, ...]:
        """|dom(X)| of each attribute."""
        return tuple(attribute.cardinality for attribute in self.attributes)

    @property
    def is_binary(self) -> bool:
        """Every attribute is declared with exactly two values (a fact of the schema, never of the rows)."""
        return all(size == 2 for size in self.cardinalities)

    @cached_property
    def first_axis(self) -> NDArray[np.int32]:
        """The axis of each attribute's level 0."""
        heights = [attribute.height for attribute in self.attributes]
        return np.concatenate([[0], np.cumsum(heights)[:-1]]).astype(np.int32) if heights else np.empty(0, np.int32)

    @cached_property
    def axis_attribute(self) -> NDArray[np.int32]:
        """The attribute of each axis."""
        heights = [attribute.height for attribute in self.attributes]
        return np.repeat(np.arange(len(self), dtype=np.int32), heights)

    @cached_property
    def axis_size(self) -> NDArray[np.int64]:
        """The number of codes of each axis."""
        return np.array([size for attribute in self.attributes for size in attribute.level_sizes], np.int64)

    def axis(self, attribute: int, level: int = 0) -> int:
        """The axis number of an attribute at a level."""
        if not 0 <= level < self.attributes[attribute].height:
            raise ValueError(f"attribute {self.names[attribute]!r} has no level {level}")
        return int(self.first_axis[attribute]) + level

    def axis_level(self, axis: int) -> int:
        """The level of an axis."""
        return axis - int(self.first_axis[self.axis_attribute[axis]])

    def axis_codes(self, axis: int) -> NDArray[np.int64]:
        """The lookup table from level-0 codes to the codes of an axis."""
        return np.array(self.attributes[self.axis_attribute[axis]].levels[self.axis_level(axis)], np.int64)

    def cells(self, axes: tuple[int, ...]) -> int:
        """Number of cells of a table over these axes, as an exact Python integer."""
        return prod(int(self.axis_size[axis]) for axis in axes)
