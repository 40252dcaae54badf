"""INFER: one fit a tree, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from privbayes.core.clique_tree import CliqueTree
from privbayes.core.parallel import available_cores
from privbayes.model.columns import Columns
from privbayes.model.factor import MAX_CELLS
from privbayes.model.max_entropy import COLUMN_RIDGE, PASSES, TreeFit, fit_tree
from privbayes.model.observations import Observation
from privbayes.model.propagation import Propagation

__all__ = ["fit_trees"]


def fit_trees(
    trees: Sequence[CliqueTree],
    columns: Columns,
    observations: Sequence[Observation],
    *,
    passes: int = PASSES,
    column_ridge: float = COLUMN_RIDGE,
    progress: Callable[[int, int], None] | None = None,
    references: Sequence[Observation] = (),
) -> list[TreeFit]:
    """Each tree fitted to the observations that lie inside its cliques. The fits do not depend on the threads. Where
    there are ``references`` for all that is observed, it is first fitted to those, and then moved to the observations.
    """
    sizes = [len(q) for q in columns.shares]
    done = [0] * len(trees)

    def work(t: int) -> TreeFit:
        engine = Propagation(trees[t], sizes, max_cells=MAX_CELLS)
        inside = [one for one in observations if engine.home(one.attributes) is not None]

        def report(at: int, _: int) -> None:
            done[t] = at
            if progress is not None:
                progress(sum(done), passes * len(trees))

        start = None
        if references:
            known = [one for one in references if engine.home(one.attributes) is not None]
            start = fit_tree(engine, columns.shares, columns.total, known, passes=passes, column_ridge=column_ridge)
        found = fit_tree(
            engine,
            columns.shares,
            columns.total,
            inside,
            passes=passes,
            column_ridge=column_ridge,
            progress=report,
            start=start,
        )
        report(passes, passes)
        return found

    with ThreadPoolExecutor(min(len(trees), available_cores())) as pool:
        return list(pool.map(work, range(len(trees))))
