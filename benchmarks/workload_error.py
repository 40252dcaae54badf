"""Normalised L2 error on a workload of random 4-, 6- and 8-way marginals, as in the JTree and PrivABN papers.

    python benchmarks/workload_error.py [--methods jtree privabn ...] [--repeats 10]

For each size, 200 column sets drawn once (the same for every method): the L2 distance between the table's marginal
and that of as many synthetic rows, divided by the number of rows; mean over the sets. Pure epsilon and replace-one
neighbours unless told otherwise. Results are kept in results/workload_error.json by method, table and epsilon.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np
from common import RESULTS, Original, machine, mean_and_error

import privbayes as pb

DATASETS = ("retail", "acs")
SIZES = (4, 6, 8)
SETS = 200
EPSILONS = (0.1, 0.4, 1.6)
METHODS = ("independent", "histogram", "privbayes", "privabn", "jtree", "best")
KEPT = RESULTS / "workload_error.json"
KEY = ("neighbours", "delta", "method", "dataset", "epsilon")

Row = dict[str, Any]


def workload(original: Original) -> dict[int, list[tuple[str, ...]]]:
    """200 random sets of columns of each size."""
    rng = np.random.default_rng(11)
    names = list(original.schema.columns)
    return {k: [tuple(rng.choice(names, k, replace=False).tolist()) for _ in range(SETS)] for k in SIZES}


def measure(original: Original, method: str, epsilon: float, settings: argparse.Namespace) -> Row:
    """One cell: repeats of fit and sample."""
    sets = workload(original)
    errors: dict[int, list[float]] = {k: [] for k in SIZES}
    seconds = []
    for repeat in range(settings.repeats):
        start = time.perf_counter()
        model = pb.fit(
            original.table, original.schema, epsilon=epsilon, delta=settings.delta or None, method=method,
            neighbours=settings.neighbours,
        )  # fmt: skip
        seconds.append(time.perf_counter() - start)
        synthetic = model.sample(original.n_rows, seed=repeat, as_="arrow")
        for k in SIZES:
            errors[k].append(original.l2_error(synthetic, sets[k]))
    return {
        "neighbours": settings.neighbours, "delta": settings.delta, "method": method, "dataset": original.name,
        "epsilon": epsilon, "repeats": settings.repeats, "fit_s": float(np.median(seconds)),
        "l2": {str(k): mean_and_error(errors[k]) for k in SIZES},
    }  # fmt: skip


def floor(original: Original, repeats: int) -> dict[str, tuple[float, float]]:
    """The same for rows drawn from the table itself."""
    rng, sets = np.random.default_rng(0), workload(original)
    drawn = [original.table.take(rng.integers(0, original.n_rows, original.n_rows)) for _ in range(repeats)]
    return {str(k): mean_and_error([original.l2_error(rows, sets[k]) for rows in drawn]) for k in SIZES}


def keep(rows: list[Row], floors: dict[str, Any]) -> dict[str, Any]:
    """Merge into what is on disk, a new figure replacing the old one."""
    kept: dict[str, Any] = json.loads(KEPT.read_text()) if KEPT.exists() else {"results": [], "floors": {}}
    fresh = {tuple(row[key] for key in KEY) for row in rows}
    kept["results"] = [row for row in kept["results"] if tuple(row[key] for key in KEY) not in fresh] + rows
    kept["floors"].update(floors)
    kept["machine"] = machine()
    RESULTS.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return kept


def table(kept: dict[str, Any], neighbours: str, delta: float) -> str:
    """Markdown: 4-way / 6-way / 8-way at each epsilon."""
    rows = [row for row in kept["results"] if (row["neighbours"], row["delta"]) == (neighbours, delta)]
    lines = [
        "| table | method | " + " | ".join(f"eps {epsilon:g}" for epsilon in EPSILONS) + " |",
        "|---" * (len(EPSILONS) + 2) + "|",
    ]

    def cell(errors: dict[str, Any]) -> str:
        return " / ".join(f"{errors[str(k)][0]:.4f}" for k in SIZES)

    for name in DATASETS:
        for method in (method for method in METHODS if any(row["method"] == method for row in rows)):
            found = {row["epsilon"]: row for row in rows if (row["dataset"], row["method"]) == (name, method)}
            cells = [cell(found[epsilon]["l2"]) if epsilon in found else "" for epsilon in EPSILONS]
            lines.append(f"| {name} | {method} | " + " | ".join(cells) + " |")
        if name in kept["floors"]:
            lines.append(f"| {name} | bootstrap of the table | " + " | ".join([cell(kept["floors"][name])] * 3) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--delta", type=float, default=0.0, help="0 for pure epsilon")
    parser.add_argument("--neighbours", default="replace", choices=("add-remove", "replace"))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--show", action="store_true", help="measure nothing, show what is kept")
    settings = parser.parse_args()
    rows: list[Row] = []
    floors = {}
    for name in [] if settings.show else settings.datasets:
        original = Original(name)
        floors[name] = floor(original, settings.repeats)
        for method in settings.methods:
            for epsilon in settings.epsilons:
                row = measure(original, method, epsilon, settings)
                rows.append(row)
                shown = "  ".join(f"{k}-way {row['l2'][str(k)][0]:.4f}" for k in SIZES)
                print(f"{name:7} {method:12} eps {epsilon:<4g} {shown}  fit {row['fit_s']:.2f} s", flush=True)
    print(table(keep(rows, floors), settings.neighbours, settings.delta))


if __name__ == "__main__":
    main()
