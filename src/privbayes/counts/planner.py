"""Turns a batch of requests into the few tables worth counting from rows, and says which of them answers which."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from privbayes.core.domain import Domain
from privbayes.counts.request import MarginalRequests

__all__ = ["PACKED_AXES", "CountingPlan", "plan_counts"]

# A table over at most this many two-valued axes is counted from packed columns, at a fraction of a pass over the rows:
# never worth joining. Beyond it, 2^(k-1) popcounts of whole columns cost more than a pass.
PACKED_AXES = 8

# Summing one cell out of a finer table costs about twice as much as adding one row to a table.
_CELL_COST = 2.0
_JOINT_CELLS = 1 << 20
_JOINT_EXTRA_AXES = 6
_WINDOW = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class CountingPlan:
    """Which tables to count from rows, and which of them each request is derived from.

    Root r is over the axes ``roots[r]``, ascending and padded with -1, and has ``root_cells[r]`` cells; the first
    ``n_packed`` roots are over at most `PACKED_AXES` axes, all two-valued. Request t is derived from root
    ``root_of[t]`` by dropping, permuting and generalising axes.
    """

    roots: NDArray[np.int32]
    root_cells: NDArray[np.int64]
    n_packed: int
    root_of: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.roots)


def plan_counts(requests: MarginalRequests, domain: Domain, n_rows: int) -> CountingPlan:
    """Plan a batch. Sees the domain and the requests, no data; ``n_rows`` only tells what a pass over the rows costs.

    Requests over the same axes share a root. Roots that are near in lexicographic order are joined (their attributes
    united, each at the finest level asked for) wherever summing out of the joint table costs less than another pass.
    """
    tables, table_of = _distinct_rows(_canonical(requests, domain), len(domain.axis_size))
    sizes = MarginalRequests(tables).sizes(domain)
    lengths = (tables >= 0).sum(axis=1)
    packed = (np.append(domain.axis_size, 2)[tables] == 2).all(axis=1) & (lengths <= PACKED_AXES)
    n_packed = int(packed.sum())
    mixed = np.flatnonzero(~packed)
    table_root = np.empty(len(tables), np.int64)
    table_root[packed] = np.arange(n_packed)
    roots = tables[packed]
    if len(mixed):
        from privbayes.counts.joins import join_tables

        joint = np.full((len(mixed), tables.shape[1] + _JOINT_EXTRA_AXES), -1, np.int32)
        table_joint = np.empty(len(mixed), np.int64)
        n_joint = join_tables(
            tables[mixed],
            lengths[mixed],
            sizes[mixed].astype(np.float64),
            domain.axis_attribute,
            domain.axis_size,
            float(n_rows),
            _CELL_COST,
            float(min(_JOINT_CELLS, n_rows)),
            _WINDOW,
            joint,
            table_joint,
        )
        table_root[mixed] = n_packed + table_joint
        padding = np.full((n_packed, joint.shape[1] - roots.shape[1]), -1, np.int32)
        roots = np.concatenate([np.concatenate([roots, padding], axis=1), joint[:n_joint]])
    return CountingPlan(
        roots=roots,
        root_cells=MarginalRequests(roots).sizes(domain),
        n_packed=n_packed,
        root_of=table_root[table_of],
    )


def _canonical(requests: MarginalRequests, domain: Domain) -> NDArray[np.int32]:
    """The requests with their axes ascending, checked."""
    axes = requests.axes
    n_axes = len(domain.axis_size)
    if axes.size and (axes.min() < -1 or axes.max() >= n_axes):
        raise ValueError(f"axes must lie in 0 .. {n_axes - 1} (or be -1 at the end of a row)")
    if np.any((axes[:, :-1] < 0) & (axes[:, 1:] >= 0)):
        raise ValueError("the padding -1 may stand only at the end of a row")
    ordered = np.sort(np.where(axes < 0, n_axes, axes), axis=1).astype(np.int32)
    attribute = np.append(domain.axis_attribute, -1)[ordered]
    if np.any((attribute[:, :-1] == attribute[:, 1:]) & (attribute[:, 1:] >= 0)):
        raise ValueError("an attribute may appear only once in a request")
    ordered[ordered == n_axes] = -1
    return ordered


def _distinct_rows(axes: NDArray[np.int32], n_axes: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The distinct rows in lexicographic order, and which of them each row is."""
    bits = n_axes.bit_length()
    axes_a_word = 63 // bits if bits else 63
    keys = [np.zeros(len(axes), np.int64)]
    for j in range(axes.shape[1]):
        if j and j % axes_a_word == 0:
            keys.append(np.zeros(len(axes), np.int64))
        keys[-1] = (keys[-1] << bits) | (axes[:, j] + 1)
    order = np.lexsort(keys[::-1])
    fresh = np.zeros(len(axes), np.bool_)
    fresh[:1] = True
    for key in keys:
        fresh[1:] |= key[order[1:]] != key[order[:-1]]
    which = np.empty(len(axes), np.int64)
    which[order] = np.cumsum(fresh) - 1
    return np.ascontiguousarray(axes[order[fresh]]), which
