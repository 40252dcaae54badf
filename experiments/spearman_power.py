"""Power of Spearman's test on rows of the smoothed histogram, against epsilon (thesis, section 3.2).

    python experiments/spearman_power.py [--repeats 200]

Two columns in [0, 1] with a rank correlation of about .94, 10,000 rows, 10 x 10 equal cells; the test at the 5% level.
Four curves: k = 1,000 released rows; k chosen by the method; PrivBayes with the same bins; and k = 1,000 with delta as
the thesis prints it (m = 1/100 instead of 100), which is NOT private at the epsilon on the axis. Dotted, the same where
the columns are independent: how often the test sees what is not there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from math import exp, log
from typing import Any

import numpy as np
import pyarrow as pa
from common import COLOURS, GREY, LEVEL, of_table, pyplot, save
from numpy.typing import NDArray
from scipy import stats

import privbayes as pb

N, K, SIDE = 10_000, 1_000, 10
CELLS = SIDE * SIDE
EPSILONS = np.round(10 ** np.linspace(-2, 2, 13), 4)
SCHEMA = pb.Schema.from_dict(
    {"columns": {name: {"type": "number", "min": 0, "max": 1, "bins": SIDE} for name in ("x", "y")}}
)

Rows = NDArray[np.float64]


def table_of(rng: np.random.Generator, *, dependent: bool) -> Rows:
    """X uniform, Y = X + a normal of variance 1/100, drawn again where it leaves [0, 1]; or Y of another X."""
    x = rng.random(N)
    y = x + rng.normal(0, 0.1, N)
    while (out := (y < 0) | (y > 1)).any():
        y[out] = x[out] + rng.normal(0, 0.1, int(out.sum()))
    return np.column_stack([x, y if dependent else rng.permutation(y)])


def fitted(table: Rows, epsilon: float, n: int | None, rng: np.random.Generator, **options: Any) -> Rows:
    """Rows of a fitted model."""
    model = pb.fit(pa.table({"x": table[:, 0], "y": table[:, 1]}), SCHEMA, epsilon=epsilon, **options)
    size = n if n is not None else model.describe()["rows"]
    return of_table(model.sample(size, seed=int(rng.integers(2**31))), ["x", "y"])


def as_printed(rows: Rows, epsilon: float, rng: np.random.Generator) -> Rows:
    """K rows with the delta of the text, whose m is 1/100. For comparison: it does not have this epsilon."""
    delta = printed_delta(epsilon)
    uniform = rng.random(K) < delta
    cells = np.minimum((rows[rng.integers(0, N, K)] * SIDE).astype(int), SIDE - 1)
    cells[uniform] = rng.integers(0, SIDE, (int(uniform.sum()), 2))
    return (cells + rng.random((K, 2))) / SIDE


def printed_delta(epsilon: float) -> float:
    """M / (n e^(eps/k) + m - n) with the printed m."""
    m = 1 / CELLS
    return m / (N * exp(epsilon / K) + m - N)


def true_epsilon(delta: float) -> float:
    """What k rows with this delta lose: k ln((1 - delta) m / (n delta) + 1), m = 100 cells."""
    return K * log((1 - delta) * CELLS / (N * delta) + 1)


METHODS: dict[str, Callable[[Rows, float, np.random.Generator], Rows]] = {
    "histogram, k = 1,000": lambda rows, e, rng: fitted(rows, e, K, rng, method="histogram", rows=K),
    "histogram, k by the method": lambda rows, e, rng: fitted(rows, e, None, rng, method="histogram"),
    "PrivBayes, 10 bins": lambda rows, e, rng: fitted(rows, e, K, rng, method="privbayes"),
    "k = 1,000, printed m: not private": as_printed,
}


def rejects(sample: Rows) -> bool:
    """Spearman's test on a synthetic table; too few or constant rows say nothing."""
    if len(sample) < 4 or np.ptp(sample[:, 0]) == 0 or np.ptp(sample[:, 1]) == 0:
        return False
    return bool(stats.spearmanr(sample[:, 0], sample[:, 1]).pvalue < LEVEL)


def measure(repeats: int) -> list[dict[str, Any]]:
    """How often the test rejects, by curve and epsilon."""
    rng = np.random.default_rng(1)
    results = []
    for name, draw in METHODS.items():
        for epsilon in EPSILONS.tolist():
            shares = {}
            for dependent in (True, False):
                tests = [rejects(draw(table_of(rng, dependent=dependent), epsilon, rng)) for _ in range(repeats)]
                shares[dependent] = float(np.mean(tests))
            results.append({"curve": name, "epsilon": epsilon, "power": shares[True], "false": shares[False]})
            print(f"{name:34} eps {epsilon:<8g} power {shares[True]:.3f}  independent {shares[False]:.3f}", flush=True)
    return results


def plot(results: list[dict[str, Any]], repeats: int) -> None:
    """One panel for dependent columns, one for independent ones."""
    plt = pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.9), sharex=True)
    for panel, key, title in (
        (panels[0], "power", "dependent columns (rank correlation .94)"),
        (panels[1], "false", "independent columns"),
    ):
        for i, name in enumerate(METHODS):
            rows = [row for row in results if row["curve"] == name]
            printed = "printed" in name
            panel.plot(
                [row["epsilon"] for row in rows], [row[key] for row in rows],
                color=GREY if printed else COLOURS[i], ls="--" if printed else "-", marker="o", ms=3.5, label=name,
            )  # fmt: skip
        panel.axhline(LEVEL, color="#52514e", lw=0.8, ls=":")
        panel.set(xscale="log", ylim=(-0.03, 1.05) if key == "power" else (-0.01, 0.35), title=title, xlabel="epsilon")
    panels[0].set_ylabel(f"share of {repeats} tests that reject")
    panels[1].text(0.99, 0.93, "dotted: the level of the test, 5%", transform=panels[1].transAxes, ha="right")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=4, fontsize=8.5)
    figure.suptitle("Spearman's test on synthetic rows, 10,000 original ones", x=0.01, ha="left", fontweight="bold")
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    save("spearman_power", figure, {"repeats": repeats, "n": N, "cells": CELLS, "results": results})
    plt.close(figure)


def main() -> None:
    """Run and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    for epsilon in (0.01, 0.1, 1.0):
        delta = printed_delta(epsilon)
        print(f"printed delta at epsilon {epsilon:g}: {delta:.2e}, a true epsilon of {true_epsilon(delta):,.0f}")
    plot(measure(repeats), repeats)


if __name__ == "__main__":
    main()
