"""Every method on the same tables, under the same relation, epsilon and delta: mean total variation distance over all
2-way and 3-way marginals, with as many synthetic rows as the model says.

    python benchmarks/accuracy.py                                   # best, zCDP, add-remove: the main table
    python benchmarks/accuracy.py --delta 0 --neighbours replace    # pure epsilon
    python benchmarks/accuracy.py --methods best privbayes independent --repeats 5 --peers peers.csv
    python benchmarks/accuracy.py --plot                            # tables and plots from what is kept

Results are kept by (relation, delta, method, options, table, epsilon) in results/accuracy.json, a run replacing what
it measures again. Beside the methods stand the floor (a bootstrap resample of the table) and independent columns
without any noise. ``--peers`` reads figures of other libraries: a CSV with the columns peer, dataset, epsilon, tvd2,
tvd3, fit_s.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, RESULTS, Original, machine, mean_and_error

import privbayes as pb

DATASETS = ("nltcs", "acs", "br2000", "adult", "retail")
EPSILONS = (0.1, 0.4, 1.6)
DELTA = 1e-9
MOST_TRIPLES = 600  # on wide tables: a fixed sample of them
# PrivBayes of the paper (score R, vanilla encoding) under pure epsilon and replace-one, 2-way, at these epsilons.
PAPER = {
    "nltcs": (0.0899, 0.0388, 0.0222),
    "acs": (0.0541, 0.0357, 0.0247),
    "br2000": (0.0996, 0.0656, 0.0406),
    "adult": (0.1389, 0.0978, 0.0661),
}
KEPT = RESULTS / "accuracy.json"
KEY = ("neighbours", "delta", "method", "options", "dataset", "epsilon")

Row = dict[str, Any]


def measure(original: Original, epsilon: float, *, settings: argparse.Namespace, method: str) -> Row:
    """One cell: repeats of fit and sample."""
    options = dict(settings.options)
    pairs, triples, fits, samples = [], [], [], []
    for repeat in range(settings.repeats):
        start = time.perf_counter()
        model = pb.fit(
            original.table,
            original.schema,
            epsilon=epsilon,
            delta=settings.delta or None,
            method=method,
            neighbours=settings.neighbours,
            **options,
        )
        fitted = time.perf_counter()
        rows = model.n_rows if settings.neighbours == "add-remove" else original.n_rows
        synthetic = model.sample(max(rows, 1), seed=repeat, as_="arrow")
        sampled = time.perf_counter()
        fits.append(fitted - start)
        samples.append(sampled - fitted)
        pairs.append(original.distance(synthetic, 2))
        if settings.triples:
            triples.append(original.distance(synthetic, 3))
    return {
        "neighbours": settings.neighbours,
        "delta": settings.delta,
        "method": method,
        "options": json.dumps(options, sort_keys=True),
        "dataset": original.name,
        "epsilon": epsilon,
        "repeats": settings.repeats,
        "tvd2": mean_and_error(pairs),
        "tvd3": mean_and_error(triples) if triples else None,
        "fit_s": float(np.median(fits)),
        "sample_s": float(np.median(samples)),
    }


def references(original: Original, repeats: int) -> dict[str, Any]:
    """The floor of independent draws from the table itself, and independent columns known without noise."""
    rng = np.random.default_rng(0)
    n = original.n_rows
    drawn: dict[int, list[float]] = {2: [], 3: []}
    for _ in range(repeats):
        resample = original.table.take(rng.integers(0, n, n))
        for k in drawn:
            drawn[k].append(original.distance(resample, k))
    return {
        "bootstrap": {k: mean_and_error(values) for k, values in drawn.items()},
        "independent columns": {k: original.distance_to_independence(k) for k in (2, 3)},
    }


def keep(rows: list[Row], floors: dict[str, Any]) -> dict[str, Any]:
    """Merge into what is on disk."""
    kept: dict[str, Any] = {"results": [], "references": {}}
    if KEPT.exists():
        kept = json.loads(KEPT.read_text())
    fresh = {tuple(row[k] for k in KEY) for row in rows}
    kept["results"] = [row for row in kept["results"] if tuple(row[k] for k in KEY) not in fresh] + rows
    kept["references"].update(floors)
    kept["machine"] = machine()
    RESULTS.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    return kept


def read_peers(path: Path) -> list[Row]:
    """Figures of other libraries, measured elsewhere."""
    with path.open(newline="") as file:
        return [
            {
                "peer": row["peer"],
                "dataset": row["dataset"],
                "epsilon": float(row["epsilon"]),
                **{key: float(row[key]) if row.get(key) else None for key in ("tvd2", "tvd3", "fit_s")},
            }
            for row in csv.DictReader(file)
        ]


def table(kept: dict[str, Any], neighbours: str, delta: float, peers: list[Row]) -> str:
    """What is kept for one relation and delta, in Markdown: 2-way [3-way] at each epsilon."""
    rows = [row for row in kept["results"] if (row["neighbours"], row["delta"]) == (neighbours, delta)]
    names = [name for name in DATASETS if any(row["dataset"] == name for row in rows)]
    lines = [
        f"| {neighbours}, {f'delta {delta:g}' if delta else 'pure'} | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]

    def line(label: str, cells: dict[tuple[str, float], str], epsilons: list[float]) -> None:
        body = [" / ".join(cells.get((name, epsilon), "-") for epsilon in epsilons) for name in names]
        lines.append(f"| {label} | " + " | ".join(body) + " |")

    epsilons = sorted({row["epsilon"] for row in rows})
    for method, options in dict.fromkeys((row["method"], row["options"]) for row in rows):
        mine = [row for row in rows if (row["method"], row["options"]) == (method, options)]
        label = method if options == "{}" else f"{method} {options}"
        for k in ("tvd2", "tvd3"):
            cells = {(row["dataset"], row["epsilon"]): f"{row[k][0]:.4f}" for row in mine if row[k]}
            if cells:
                line(f"{label}, {k[-1]}-way", cells, epsilons)
        seconds = {(row["dataset"], row["epsilon"]): f"{row['fit_s'] + row['sample_s']:.1f}" for row in mine}
        line(f"{label}, s", seconds, epsilons)
    for peer in dict.fromkeys(row["peer"] for row in peers):
        cells = {(r["dataset"], r["epsilon"]): f"{r['tvd2']:.4f}" for r in peers if r["peer"] == peer and r["tvd2"]}
        line(f"{peer}, 2-way", cells, epsilons)
    found = kept["references"]
    for k in ("2", "3"):
        for what in ("bootstrap", "independent columns"):
            values = {n: found[n][what][k] for n in names if n in found}
            body = [f"{v[0] if isinstance(v, list) else v:.4f}" for v in (values.get(n, float("nan")) for n in names)]
            lines.append(f"| {what}, {k}-way | " + " | ".join(body) + " |")
    return "\n".join(lines)


def against_paper(kept: dict[str, Any], method: str = "best") -> str:
    """The geometric mean of a method's 2-way errors over the paper's, pure epsilon and replace-one."""
    paper = {
        (name, epsilon): error for name, row in PAPER.items() for epsilon, error in zip(EPSILONS, row, strict=True)
    }
    ratios: dict[tuple[str, float], float] = {}
    for row in kept["results"]:
        cell = row["dataset"], row["epsilon"]
        same = (row["neighbours"], row["delta"], row["method"], row["options"]) == ("replace", 0.0, method, "{}")
        if same and cell in paper:
            ratios[cell] = row["tvd2"][0] / paper[cell]

    def change(cells: list[tuple[str, float]]) -> str:
        known = [ratios[cell] for cell in cells if cell in ratios]
        return f"{float(np.exp(np.mean(np.log(known)))) - 1:+.0%} ({len(known)})" if known else "-"

    parts = [f"{name} {change([cell for cell in paper if cell[0] == name])}" for name in PAPER]
    parts += [f"epsilon {epsilon} {change([cell for cell in paper if cell[1] == epsilon])}" for epsilon in EPSILONS]
    return f"{method} against PrivBayes of the paper, 2-way: {change(list(paper))}; " + ", ".join(parts)


def plot(kept: dict[str, Any], neighbours: str, delta: float, peers: list[Row]) -> Path:
    """2-way error against epsilon, a panel a table, with error bars."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = [row for row in kept["results"] if (row["neighbours"], row["delta"]) == (neighbours, delta)]
    names = [name for name in DATASETS if any(row["dataset"] == name for row in rows)]
    figure, panels = plt.subplots(1, len(names), figsize=(3.4 * len(names), 3.6), squeeze=False)
    made = list(dict.fromkeys((row["method"], row["options"]) for row in rows))
    beside = list(dict.fromkeys(row["peer"] for row in peers))
    colours = {one: f"C{k}" for k, one in enumerate([*made, *beside])}  # the same in every panel
    handles: dict[str, Any] = {}
    for panel, name in zip(panels[0], names, strict=True):
        here = sorted((row for row in rows if row["dataset"] == name), key=lambda row: row["epsilon"])
        for method, options in made:
            mine = [row for row in here if (row["method"], row["options"]) == (method, options)]
            if mine:
                label = method if options == "{}" else f"{method} {options}"
                means, errors = zip(*(row["tvd2"] for row in mine), strict=True)
                at = [row["epsilon"] for row in mine]
                colour = colours[method, options]
                panel.errorbar(at, means, errors, marker="o", ms=3, capsize=2, label=label, color=colour)
        for peer in beside:
            theirs = sorted((r["epsilon"], r["tvd2"]) for r in peers if (r["peer"], r["dataset"]) == (peer, name))
            if theirs:
                panel.plot(*zip(*theirs, strict=True), marker="s", ms=3, ls="--", label=peer, color=colours[peer])
        found = kept["references"].get(name)
        if found:
            panel.axhline(found["bootstrap"]["2"][0], color="grey", ls=":", label="bootstrap of the table")
            panel.axhline(found["independent columns"]["2"], color="grey", ls="-.", label="independent, no noise")
        ticks = sorted({row["epsilon"] for row in here})
        panel.set(xscale="log", yscale="log", title=name, xlabel="epsilon")
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        drawn, labels = panel.get_legend_handles_labels()
        handles |= dict(zip(labels, drawn, strict=True))
    panels[0][0].set_ylabel("mean total variation distance, 2-way")
    lines = -(-len(handles) // 5)
    figure.legend(handles.values(), handles, loc="lower center", ncols=5, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0.05 + 0.05 * lines, 1, 1))
    path = HERE / "results" / f"accuracy_{neighbours}_{'zcdp' if delta else 'pure'}.png"
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def option(text: str) -> tuple[str, Any]:
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", nargs="+", default=["best"])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=DATASETS)
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--delta", type=float, default=DELTA, help="0 for pure epsilon")
    parser.add_argument("--neighbours", default="add-remove", choices=("add-remove", "replace"))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--options", nargs="*", type=option, default=[], metavar="NAME=VALUE", help="of the method")
    parser.add_argument("--no-triples", dest="triples", action="store_false")
    parser.add_argument("--peers", type=Path)
    parser.add_argument("--plot", action="store_true", help="measure nothing, show what is kept")
    parser.add_argument("--dry", action="store_true", help="measure, but keep nothing")
    settings = parser.parse_args()
    peers = read_peers(settings.peers) if settings.peers else []
    rows, floors = [], {}
    if not settings.plot:
        for name, method in itertools.product(settings.datasets, settings.methods):
            original = Original(name, MOST_TRIPLES)
            if not settings.dry:
                floors[name] = references(original, settings.repeats)
            for epsilon in settings.epsilons:
                row = measure(original, epsilon, settings=settings, method=method)
                rows.append(row)
                triples = f"  3-way {row['tvd3'][0]:.4f}" if row["tvd3"] else ""
                print(
                    f"{name:7} {method:10} eps {epsilon:<4}  2-way {row['tvd2'][0]:.4f} (se {row['tvd2'][1]:.4f})"
                    f"{triples}  fit {row['fit_s']:.2f} s  rows {row['sample_s']:.2f} s",
                    flush=True,
                )
    if not settings.dry:
        kept = keep(rows, json.loads(json.dumps(floors)))
        print(table(kept, settings.neighbours, settings.delta, peers))
        if settings.neighbours == "replace" and not settings.delta:
            print(against_paper(kept))
        print(plot(kept, settings.neighbours, settings.delta, peers))


if __name__ == "__main__":
    main()
