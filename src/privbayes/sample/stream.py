"""Synthetic tables in chunks: draw codes, decode, hand over, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privbayes.encoding.codec import Codec
from privbayes.model.protocol import GenerativeModel
from privbayes.sample.where import Condition

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["synthetic_tables"]


def synthetic_tables(
    codec: Codec,
    model: GenerativeModel,
    rows: int,
    *,
    seed: int | None,
    where: Mapping[str, Any],
    batch_rows: int,
    order: Sequence[str],
    types: Mapping[str, str],
    progress: Callable[[str, int, int], None] | None = None,
) -> Iterator[pa.Table]:
    """Tables of at most ``batch_rows`` rows (at least one table, so that a writer learns the columns).

    The condition and the sampler are made before the first row is asked for, so that a wrong one fails early.
    """
    rng = np.random.default_rng(seed)
    condition = Condition.of(codec, where)
    sampler = model.sampler(condition.evidence)

    def tables() -> Iterator[pa.Table]:
        done = 0
        while done < rows or done == 0:
            size = min(batch_rows, rows - done)
            codes = sampler.draw(size, rng)
            yield condition.pin(codec.decode(codes, rng, first_id=done + 1, order=order, types=types), rng)
            done += size
            if progress is not None:
                progress("rows", done, rows)
            if rows == 0:
                return

    return tables()
