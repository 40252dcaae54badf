"""Train on synthetic, test on real: linear SVMs (hinge loss, C = 1) for four columns of adult, as in the papers: a
person makes over 50K a year, is a female, holds a post-secondary degree, has never married.

    python benchmarks/prediction.py                 # measure, keep, print and plot
    python benchmarks/prediction.py --plot          # what is kept

In each repeat a fifth of the table is put aside; the methods see the rest (add-remove, delta 1e-9), and the SVM is
trained on as many synthetic rows, one-hot, and tested on what was put aside. `best` is measured as it is and told the
column to predict; `spanning tree` is the structure of MST, bought the same way (`spanning_tree.py`); `real` trains on
the rest itself, `majority` says what is more frequent there. Neither is private. For the degree the column
education_num is left out of the features: it numbers the degrees.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from common import HERE, RESULTS, data_paths, machine, mean_and_error
from spanning_tree import SpanningTree

import privbayes as pb
from privbayes.table.source import read_table

EPSILONS = (0.1, 0.4, 1.6)
DELTA = 1e-9
HELD_OUT = 0.2
PASSES = 500  # over the rows, for the solver
KEPT = RESULTS / "prediction.json"
DEGREES = ("Assoc-acdm", "Assoc-voc", "Bachelors", "Masters", "Prof-school", "Doctorate")
TASKS = {  # what is predicted: the column, the values that are a yes, and columns that would give it away
    "income over 50K": ("income", (">50K",), ()),
    "female": ("sex", ("Female",), ()),
    "post-secondary degree": ("education", DEGREES, ("education_num",)),
    "never married": ("marital_status", ("Never-married",), ()),
}
METHODS = ("best", "best, target", "privbayes", "spanning tree")
LABELS = {
    "spanning tree": "tree of pairs (MST's structure)",
    "real": "real table",
    "best, target": "best, told the column",
}
WITHOUT_EPSILON = ("real", "majority")

Row = dict[str, Any]


def features(table: pa.Table, schema: pb.Schema, task: str) -> tuple[Any, np.ndarray]:
    """One-hot columns (sparse) and the answers."""
    from scipy.sparse import csr_array

    column, yes, hidden = TASKS[task]
    places, width = [], 0
    for name, kind in schema.columns.items():
        if name != column and name not in hidden:
            code = {str(value): k for k, value in enumerate(kind.values)}
            places.append(width + np.array([code[str(value)] for value in table[name].to_pylist()]))
            width += len(code)
    cells = np.stack(places, axis=1)
    ends = np.arange(0, cells.size + 1, cells.shape[1], dtype=np.int32)
    hot = csr_array((np.ones(cells.size), cells.ravel().astype(np.int32), ends), shape=(len(cells), width))
    return hot, np.isin(np.array(table[column].to_pylist(), str), yes)


def error(train: pa.Table, test: pa.Table, schema: pb.Schema, task: str) -> float:
    """The share of the held-out rows that an SVM trained on these rows gets wrong."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import LinearSVC

    x, y = features(train, schema, task)
    x_test, y_test = features(test, schema, task)
    if y.min() == y.max():  # all alike: nothing to train on
        return float(np.mean(y_test != y[0]))
    svm = LinearSVC(C=1.0, loss="hinge", max_iter=PASSES, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it has not settled to the last digit by then
        svm.fit(x, y)
    return float(np.mean(svm.predict(x_test) != y_test))


def synthesized(
    method: str, train: pa.Table, schema: pb.Schema, epsilon: float, seed: int
) -> Iterator[tuple[str, pa.Table]]:
    """Each task with the table its SVM is trained on: one for all tasks, unless the method is told the column."""
    settings = {"epsilon": epsilon, "delta": DELTA, "neighbours": "add-remove"}
    make: Callable[..., Any] = {"spanning tree": SpanningTree, "privbayes": pb.PrivBayes}.get(method, pb.Best)
    once = None
    for task, (column, _, _) in TASKS.items():
        if method == "best, target":
            once = make(**settings, target=column).fit(train, schema).sample(seed=seed, as_="arrow")
        elif once is None:
            once = make(**settings).fit(train, schema).sample(seed=seed, as_="arrow")
        yield task, once


def measure(repeats: int, methods: list[str], epsilons: list[float], *, keeping: bool) -> list[Row]:
    path, schema_path = data_paths("adult")
    schema = pb.Schema.load(schema_path)
    private = read_table(path)
    table = pa.table({name: private.column(name) for name in schema.columns})
    found: dict[tuple[str, str, float | None], list[float]] = {}
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(table.num_rows)
        aside = int(HELD_OUT * table.num_rows)
        test, train = table.take(order[:aside]), table.take(order[aside:])
        for task in TASKS:
            answers, truth = features(train, schema, task)[1], features(test, schema, task)[1]
            found.setdefault(("majority", task, None), []).append(float(np.mean(truth != (answers.mean() > 0.5))))
            found.setdefault(("real", task, None), []).append(error(train, test, schema, task))
        for epsilon in epsilons:
            for method in methods:
                for task, synthetic in synthesized(method, train, schema, epsilon, repeat):
                    found.setdefault((method, task, epsilon), []).append(error(synthetic, test, schema, task))
        print(f"repeat {repeat + 1} of {repeats}", flush=True)
        for (method, task, at), values in found.items():
            print(f"  {method:14} {task:22} {at or '':4} {np.mean(values):.4f}", flush=True)
        rows = [
            {"method": method, "task": task, "epsilon": at, "repeats": len(values), "error": mean_and_error(values)}
            for (method, task, at), values in found.items()
        ]
        if keeping:
            rows = keep(rows)
    return rows


def keep(rows: list[Row]) -> list[Row]:
    """Merge into what is on disk."""
    before = json.loads(KEPT.read_text())["results"] if KEPT.exists() else []
    fresh = {(row["method"], row["task"], row["epsilon"]) for row in rows}
    merged = [row for row in before if (row["method"], row["task"], row["epsilon"]) not in fresh] + rows
    RESULTS.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps({"machine": machine(), "results": merged}, indent=1) + "\n")
    return merged


def cell(rows: list[Row], method: str, task: str, epsilon: float | None) -> tuple[float, float] | None:
    return next(
        (row["error"] for row in rows if (row["method"], row["task"], row["epsilon"]) == (method, task, epsilon)), None
    )


def table(rows: list[Row]) -> str:
    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    lines = ["| error at eps " + " / ".join(f"{e:g}" for e in epsilons) + " | " + " | ".join(TASKS) + " |"]
    lines.append("|---" * (len(TASKS) + 1) + "|")
    for method in (*METHODS, *WITHOUT_EPSILON):
        cells = []
        for task in TASKS:
            ats: list[float | None] = [None] if method in WITHOUT_EPSILON else [*epsilons]
            values = [cell(rows, method, task, at) for at in ats]
            cells.append(" / ".join("-" if v is None else f"{v[0]:.4f}" for v in values))
        lines.append(f"| {LABELS.get(method, method)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plot(rows: list[Row]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    epsilons = sorted({row["epsilon"] for row in rows if row["epsilon"]})
    figure, panels = plt.subplots(1, len(TASKS), figsize=(3.3 * len(TASKS), 3.7))
    for panel, task in zip(panels, TASKS, strict=True):
        for method in METHODS:
            values = [cell(rows, method, task, e) for e in epsilons]
            if all(values):
                means, errors = zip(*(v for v in values if v), strict=True)
                panel.errorbar(epsilons, means, errors, marker="o", ms=4, capsize=3, label=LABELS.get(method, method))
        for method, style in zip(WITHOUT_EPSILON, (":", "-."), strict=True):
            value = cell(rows, method, task, None)
            if value:
                panel.axhline(value[0], color="grey", ls=style, label=LABELS.get(method, method))
        panel.set(xscale="log", title=task, xlabel="epsilon")
        panel.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("misclassification rate")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), fontsize=8.5, frameon=False)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(HERE / "results" / "prediction.png", dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--plot", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--dry", action="store_true", help="measure, but keep nothing")
    settings = parser.parse_args()
    if settings.plot:
        rows = json.loads(KEPT.read_text())["results"]
    else:
        rows = measure(settings.repeats, settings.methods, settings.epsilons, keeping=not settings.dry)
    print(table(rows))
    if not settings.dry:
        plot(rows)


if __name__ == "__main__":
    main()
