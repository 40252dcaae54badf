"""INFER: noisy counts without the bias of cutting off negatives: small counts go, the large ones keep the total."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["without_small_counts"]


def without_small_counts(table: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """JTree, section 4.3: counts above a threshold stay and the others become 0. The threshold is the one for which
    what stays sums most nearly to ``total``; then it is scaled to that. A table without positive counts becomes even.

    Setting only negatives to 0 would leave the positive half of the noise on cells that are empty.
    """
    falling = np.sort(table[table > 0], axis=None)[::-1]
    if not falling.size:
        return np.full(table.shape, total / table.size)
    last = np.append(np.flatnonzero(np.diff(falling)), falling.size - 1)  # equal counts stay or go together
    kept = last[np.argmin(np.abs(np.cumsum(falling)[last] - total))]
    large = np.where(table >= falling[kept], table, 0.0)
    scaled: NDArray[np.float64] = large * (total / large.sum())
    return scaled
