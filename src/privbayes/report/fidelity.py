"""How close a synthetic table came to its original. This reads the original: the figures are not private, and no part
of a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from privbayes.encoding.codec import Codec
from privbayes.report.metrics import marginal_distance
from privbayes.schema.schema import Schema
from privbayes.table.source import read_table

__all__ = ["Fidelity", "compare"]


@dataclass(frozen=True, kw_only=True)
class Fidelity:
    """Total variation distances between two tables: 0 when they agree, 1 when they have nothing in common."""

    columns: tuple[tuple[str, float], ...]
    """Each modelled column and its distance, bins and categories as the schema declares them."""
    pairs: tuple[tuple[str, str, float], ...]
    """Each pair of modelled columns and its distance."""

    @property
    def column_mean(self) -> float:
        """The mean over columns."""
        return sum(distance for _, distance in self.columns) / len(self.columns)

    @property
    def pair_mean(self) -> float | None:
        """The mean over pairs; None where there is only one column."""
        return sum(distance for *_, distance in self.pairs) / len(self.pairs) if self.pairs else None


def compare(original: Any, synthetic: Any, schema: Schema) -> Fidelity:
    """Compare two tables of one schema, column by column and pair by pair. Not private: it reads the original."""
    codec = Codec(schema, "vanilla")
    first, second = (codec.encode(read_table(source)).columns for source in (original, synthetic))
    names, sizes = codec.domain.names, codec.domain.cardinalities

    def distance(*axes: int) -> float:
        return marginal_distance(first, second, sizes, axes)

    return Fidelity(
        columns=tuple((name, distance(i)) for i, name in enumerate(names)),
        pairs=tuple((names[i], names[j], distance(i, j)) for i, j in combinations(range(len(names)), 2)),
    )
