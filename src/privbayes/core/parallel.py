"""Runs compiled loops that hold no interpreter lock on all the cores this process may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

__all__ = ["available_cores", "run_parts"]


def available_cores() -> int:
    """The cores this process may use, which can be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def run_parts(work: Callable[[int, int], None], parts: Sequence[tuple[int, int]], threads: int) -> None:
    """Call ``work(start, stop)`` for every part, on up to ``threads`` threads; the first failure is raised again."""
    if threads == 1 or len(parts) < 2:
        for part in parts:
            work(*part)
        return
    with ThreadPoolExecutor(min(threads, len(parts))) as pool:
        for done in [pool.submit(work, *part) for part in parts]:
            done.result()
