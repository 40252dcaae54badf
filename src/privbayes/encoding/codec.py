"""The codec: one schema and one encoding; tables to codes, codes to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.encoding.bits import code_bits, codes_of_numerals, numerals
from privbayes.encoding.encoded import CodeArray, EncodedTable
from privbayes.encoding.hierarchy import Encoding, check_encoding, column_attributes
from privbayes.errors import SchemaError
from privbayes.schema.columns import Column, IdColumn
from privbayes.schema.schema import Schema
from privbayes.table.source import PrivateTable, columns_named, listed

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Codec", "Progress", "check_columns", "output_types"]

Progress = Callable[[str, int, int], None]


def output_types(schema: Schema, table: PrivateTable) -> dict[str, str]:
    """See `encoding.types.output_types`; loads pyarrow only when called."""
    from privbayes.encoding.types import output_types as types_of

    return types_of(schema, table)


def check_columns(schema: Schema, table: PrivateTable) -> tuple[str, ...]:
    """Problems with which columns there are; empty when schema and table name the same ones."""
    problems = []
    if set(schema.columns).isdisjoint(table.columns):  # what stands for names may be somebody's cells
        return (f"the table has none of the columns that the schema lists; {_hint(table)}",)
    lacking = [name for name in schema.columns if name not in set(table.columns)]
    if lacking:
        problems.append(f"the table lacks the {columns_named(lacking)}, which the schema lists")
    extra = [name for name in table.columns if name not in schema.columns]
    if extra:
        problems.append(
            f"the table has the {columns_named(extra)}, which the schema does not list; "
            f"add {'it' if len(extra) == 1 else 'them'} to the schema or drop {'it' if len(extra) == 1 else 'them'}"
        )
    return tuple(problems)


def _hint(table: PrivateTable) -> str:
    if len(table.columns) == 1 and any(mark in table.columns[0] for mark in ";\t|"):
        return "the cells of a CSV file must be separated by commas"
    return "is the first line of the file a line of column names?"


class Codec:
    """Turns the modelled columns of a schema into attributes and back. Everything about it is public."""

    def __init__(self, schema: Schema, encoding: str = "hierarchical") -> None:
        self.schema = schema
        self.encoding: Encoding = check_encoding(encoding)

    @cached_property
    def domain(self) -> Domain:
        """The attributes in schema order; ids are absent."""
        names: dict[str, str] = {}
        attributes = []
        for name in self.schema.modelled:
            for attribute in column_attributes(name, self.schema.columns[name], self.encoding):
                if attribute.name in names:
                    first, second = names[attribute.name], name
                    raise SchemaError(
                        f"columns {first!r} and {second!r}: both would have a bit named {attribute.name!r}; rename one"
                    )
                names[attribute.name] = name
                attributes.append(attribute)
        return Domain(tuple(attributes))

    @cached_property
    def _attributes(self) -> dict[str, tuple[int, ...]]:
        places: dict[str, tuple[int, ...]] = {}
        start = 0
        for name in self.schema.modelled:
            width = len(self._bits[name]) if name in self._bits else 1
            places[name] = tuple(range(start, start + width))
            start += width
        return places

    @cached_property
    def _bits(self) -> dict[str, NDArray[np.uint8]]:
        """Bit tables of the columns that are carried by bits."""
        if self.encoding not in ("binary", "gray"):
            return {}
        gray = self.encoding == "gray"
        columns = self.schema.columns
        return {name: code_bits(columns[name].cardinality, gray=gray) for name in self.schema.modelled}

    def column_axes(self, column: str) -> tuple[int, ...]:
        """The attributes that carry a column: one, or its bits with the most significant first."""
        self._modelled(column)
        return self._attributes[column]

    def column_from_attributes(self, column: str) -> NDArray[np.int64]:
        """The column's code for each cell of the flat table over `column_axes` (C order). For bits, a numeral that is
        no code drops its top bit; otherwise the identity.
        """
        cardinality = self._modelled(column).cardinality
        if column in self._bits:
            return codes_of_numerals(cardinality, gray=self.encoding == "gray")
        return np.arange(cardinality, dtype=np.int64)

    def _modelled(self, name: str) -> Column:
        column = self.schema.columns.get(name)
        if column is None or not column.modelled:
            raise SchemaError(f"column {name!r} is not modelled; modelled are {listed(self.schema.modelled)}")
        return column

    def code_of(self, column: str, value: object) -> int:
        """The column code of one value given by a user (None is missing), as `where` needs it."""
        import pyarrow as pa

        from privbayes.encoding.values import column_codes

        described = self._modelled(column)
        try:
            cells = pa.array([value], from_pandas=True)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SchemaError(f"column {column!r}: give text, a number, a date or a boolean") from None
        try:
            return int(column_codes(described, cells)[0])
        except SchemaError:
            raise SchemaError(f"column {column!r}: the value asked for is not one that the schema allows") from None

    def encode(self, table: PrivateTable, *, progress: Progress | None = None) -> EncodedTable:
        """Codes of every attribute. All columns are checked before anything is returned, so nothing is ever counted of
        a table that does not fit; the first problem in schema order is raised, naming the column and the rule.
        """
        from privbayes.encoding.values import column_codes

        problems = check_columns(self.schema, table)
        if problems:
            raise SchemaError("; ".join(problems))
        codes: list[CodeArray] = []
        names = self.schema.modelled
        for done, name in enumerate(names):
            problem = ""
            try:
                column = column_codes(self.schema.columns[name], table.column(name))
            except SchemaError as error:
                problem = str(error)
            if problem:
                raise SchemaError(f"column {name!r}: {problem}")
            if name in self._bits:
                codes.extend(bit[column] for bit in self._bits[name])
            else:
                codes.append(column)
            if progress is not None:
                progress("encode", done + 1, len(names))
        return EncodedTable(tuple(codes))

    def decode(
        self,
        codes: Sequence[NDArray[np.integer[Any]]],
        rng: np.random.Generator,
        *,
        first_id: int = 1,
        order: Sequence[str] | None = None,
        types: Mapping[str, str] | None = None,
    ) -> pa.Table:
        """A table from one code array per attribute. Values are drawn inside their bins by `rng`, column after column
        in schema order; ids run on from `first_id`. `order` and `types` (see `output_types`) are those of the input.
        """
        import pyarrow as pa

        from privbayes.encoding.draw import column_cells, id_cells
        from privbayes.encoding.types import parse_type

        if len(codes) != len(self.domain):
            raise ValueError(f"one code array per attribute is needed: {len(self.domain)}, not {len(codes)}")
        if order is not None and sorted(order) != sorted(self.schema.columns):
            raise ValueError("order must name every column of the schema once")
        types = types or {}
        cells: dict[str, pa.Array] = {}
        for name, column in self.schema.columns.items():
            form = parse_type(types[name]) if name in types else None
            if isinstance(column, IdColumn):
                cells[name] = id_cells(column, len(codes[0]), first_id, form)
            else:
                cells[name] = column_cells(column, self._column_codes(name, codes), rng, form)
        names = list(order or self.schema.columns)
        fields = [pa.field(name, cells[name].type, nullable=self.schema.columns[name].nullable) for name in names]
        return pa.Table.from_arrays([cells[name] for name in names], schema=pa.schema(fields))

    def _column_codes(self, name: str, codes: Sequence[NDArray[np.integer[Any]]]) -> NDArray[np.integer[Any]]:
        axes = self._attributes[name]
        if name not in self._bits:
            return codes[axes[0]]
        return self.column_from_attributes(name)[numerals([codes[axis] for axis in axes])]
