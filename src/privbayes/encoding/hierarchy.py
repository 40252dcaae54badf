"""How each encoding lays the columns of a schema out as attributes, with the generalisations it allows."""

from __future__ import annotations

from typing import Literal, cast, get_args

from privbayes.core.domain import Attribute
from privbayes.encoding.bits import bit_count
from privbayes.errors import UnsupportedError
from privbayes.schema.columns import Column

__all__ = ["Encoding", "check_encoding", "column_attributes"]

Encoding = Literal["hierarchical", "vanilla", "binary", "gray"]


def check_encoding(encoding: str) -> Encoding:
    """One of the four."""
    if encoding in get_args(Encoding):
        return cast(Encoding, encoding)
    raise UnsupportedError(f"unknown encoding {encoding!r}; it must be one of {', '.join(get_args(Encoding))}")


def column_attributes(name: str, column: Column, encoding: Encoding) -> tuple[Attribute, ...]:
    """The attributes of one column: itself with its levels, itself alone, or its bits (most significant first).

    A column that one bit can hold keeps its name; otherwise bit b of ``age`` is ``age#b``.
    """
    if encoding == "hierarchical":
        return (Attribute(name=name, levels=column.levels()),)
    if encoding == "vanilla":
        return (Attribute.flat(name, column.cardinality),)
    bits = bit_count(column.cardinality)
    if bits == 1:
        return (Attribute.flat(name, 2),)
    return tuple(Attribute.flat(f"{name}#{bit}", 2) for bit in range(bits))
