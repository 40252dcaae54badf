"""Conditions on columns (`where`): evidence for the model, and the exact cells that binned columns are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privbayes.encoding.codec import Codec
from privbayes.errors import SchemaError
from privbayes.model.factor import Factor
from privbayes.schema.columns import BinnedColumn, NumberColumn, WholeColumn

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Condition"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Condition:
    """``evidence`` restricts the model to the values asked for. A binned column takes exactly those values: given the
    bin, the model holds each of its values equally likely, so each value asked for is as likely as another.
    """

    evidence: tuple[Factor, ...]
    pins: Mapping[str, tuple[NDArray[np.int64], NDArray[Any]]]
    codec: Codec

    @staticmethod
    def of(codec: Codec, where: Mapping[str, Any]) -> Condition:
        """From column names to a value or a list of values (None is missing); SchemaError when one cannot be."""
        evidence: list[Factor] = []
        pins: dict[str, tuple[NDArray[np.int64], NDArray[Any]]] = {}
        for name, wanted in where.items():
            values = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
            if not values:
                raise SchemaError(f"column {name!r}: a condition needs at least one value")
            attributes = codec.column_axes(name)
            column = codec.schema.columns[name]
            coded = {value: codec.code_of(name, value) for value in dict.fromkeys(values)}
            weight = np.zeros(column.cardinality)
            weight[list(coded.values())] = 1.0
            if isinstance(column, BinnedColumn):
                present = [value for value, code in coded.items() if code != column.missing_code]
                if present and len(present) < len(coded):
                    raise SchemaError(f"column {name!r}: ask for missing cells or for values, not for both at once")
                if present:
                    codes, units = _exact_values(codec, name, present)
                    pins[name] = codes, units
                    # One of the values asked for is as likely as its bin divided by the values in it.
                    weight = np.zeros(column.cardinality)
                    np.add.at(weight, codes, 1.0 / np.diff(np.asarray(column.edges, np.float64))[codes])
                    weight /= weight.max()
            flat = weight[codec.column_from_attributes(name)]
            sizes = [codec.domain.cardinalities[a] for a in attributes]
            evidence.append(Factor.of([codec.domain.axis(a) for a in attributes], flat.reshape(sizes)))
        return Condition(evidence=tuple(evidence), pins=pins, codec=codec)

    def pin(self, table: pa.Table, rng: np.random.Generator) -> pa.Table:
        """Give the binned columns of the condition one of the values asked for, inside the bin that was drawn."""
        import pyarrow as pa

        from privbayes.encoding.draw import unit_cells
        from privbayes.encoding.values import column_codes

        for name, (codes, units) in self.pins.items():
            column = self.codec.schema.columns[name]
            drawn = column_codes(column, table[name]).astype(np.int64)
            chosen = np.empty(len(drawn), units.dtype)
            for code in np.unique(drawn):
                here = np.flatnonzero(drawn == code)
                chosen[here] = rng.choice(units[codes == code], len(here))
            at = table.column_names.index(name)
            field = table.schema.field(at)
            table = table.set_column(at, field, unit_cells(column, pa.array(chosen), field.type))
        return table


def _exact_values(codec: Codec, name: str, values: list[object]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Bins and plain values of what was asked for; values outside the bounds are refused, as the model has none."""
    import pyarrow as pa

    from privbayes.encoding.values import plain_values

    column = codec.schema.columns[name]
    units = np.unique(np.concatenate([plain_values(column, pa.array([value]))[0] for value in values]))
    if isinstance(column, WholeColumn):
        low, high = (float(bound) for bound in column.span)
    elif isinstance(column, NumberColumn):
        low, high = column.min, column.max
    else:
        raise TypeError(f"{name} is not binned")
    if units.min() < low or units.max() > high:
        raise SchemaError(f"column {name!r}: the condition lies outside the bounds that the schema declares")
    return np.searchsorted(np.asarray(column.edges[1:-1]), units, side="right").astype(np.int64), units
