"""From what a user says about a table's use to a workload: names checked before anything is read or spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from privbayes.core.workload import Workload
from privbayes.errors import UnsupportedError

__all__ = ["TARGET_SHARE", "check_wanted", "wanted"]

NAMED = ("pairs", "triples")
TARGET_SHARE = 0.5  # of the weight of all pairs, for those with the target


def check_wanted(workload: Any, target: Any, weights: Any) -> None:
    """Refuse what no schema could make right."""
    if isinstance(workload, str):
        if workload not in NAMED:
            raise UnsupportedError(
                f"workload must be pairs, triples, or a list of two or three columns each, not {workload!r}"
            )
    elif not (
        isinstance(workload, Sequence)
        and workload
        and all(isinstance(one, Sequence) and not isinstance(one, str) and len(one) in (2, 3) for one in workload)
        and all(isinstance(name, str) for one in workload for name in one)
    ):
        raise UnsupportedError('workload lists two or three columns each, such as [["age", "income"]]')
    elif any(len(set(one)) < len(one) for one in workload):
        raise UnsupportedError("workload names a column twice in one table")
    if target is not None and not isinstance(target, str):
        raise UnsupportedError(f"target must be the name of a column, not {target!r}")
    if weights is not None:
        if not isinstance(weights, Mapping):
            raise UnsupportedError('weights give numbers to columns, such as {"age": 2.0}')
        for name, weight in weights.items():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            if not number or not (isfinite(weight) and weight > 0):
                raise UnsupportedError(f"the weight of {name!r} must be a finite number above 0, not {weight!r}")


def wanted(workload: Any, target: str | None, weights: Mapping[str, float] | None, names: Sequence[str]) -> Workload:
    """The workload over the attributes of these names. The target's weight is such that the pairs it is part of count
    `TARGET_SHARE` of all, but at least twice another's.
    """
    place = {name: a for a, name in enumerate(names)}

    def find(name: str, what: str) -> int:
        if name not in place:
            raise UnsupportedError(f"{what} names {name!r}, which is no modelled column; there are: {', '.join(names)}")
        return place[name]

    columns = [1.0] * len(names)
    for name, weight in (weights or {}).items():
        columns[find(name, "weights")] = float(weight)
    aim = None if target is None else find(target, "target")
    if aim is not None:
        others = (len(names) - 2) / 2 * TARGET_SHARE / (1 - TARGET_SHARE)
        columns[aim] *= max(2.0, others)
    sets = () if isinstance(workload, str) else workload
    return Workload(
        columns=tuple(columns),
        sets=tuple(dict.fromkeys(tuple(sorted(find(name, "workload") for name in one)) for one in sets)),
        triples=workload == "triples",
        target=aim,
    )
