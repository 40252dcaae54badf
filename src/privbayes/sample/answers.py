"""Answers straight from the model: exact marginals over columns, without sampling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from privbayes.encoding.codec import Codec
from privbayes.errors import SchemaError
from privbayes.model.protocol import GenerativeModel

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["marginal_array", "marginal_table"]


def marginal_array(codec: Codec, model: GenerativeModel, columns: Sequence[str]) -> NDArray[np.float64]:
    """Pr[columns] over column codes, one dimension a column."""
    if not columns or len(set(columns)) != len(columns):
        raise SchemaError("name one or more different columns")
    attributes = [codec.column_axes(column) for column in columns]
    joint = model.marginal([attribute for group in attributes for attribute in group])
    sizes = [codec.schema.columns[column].cardinality for column in columns]
    flat = joint.reshape([len(codec.column_from_attributes(column)) for column in columns])
    for i, column in enumerate(columns):
        codes = codec.column_from_attributes(column)
        folded = np.zeros((*sizes[: i + 1], *flat.shape[i + 1 :]))
        np.add.at(np.moveaxis(folded, i, 0), codes, np.moveaxis(flat, i, 0))
        flat = folded
    return flat


def marginal_table(codec: Codec, model: GenerativeModel, columns: Sequence[str]) -> pa.Table:
    """Labels of each cell and its probability, in the order of the codes."""
    import pyarrow as pa

    if "probability" in columns:
        raise SchemaError("a column named 'probability' cannot be told from the answer; rename it")
    probability = marginal_array(codec, model, columns)
    cells = np.indices(probability.shape).reshape(len(columns), -1)
    labels = {
        column: pa.array(codec.schema.columns[column].labels()).take(pa.array(cells[i]))
        for i, column in enumerate(columns)
    }
    return pa.table({**labels, "probability": pa.array(probability.ravel())})
