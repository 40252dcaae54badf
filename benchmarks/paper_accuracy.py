"""PrivBayes with the papers' defaults (theta 4, beta 0.3): mean total variation distance, all 2- and 3-way.

    python benchmarks/paper_accuracy.py [--repeats 10] [--datasets nltcs acs adult br2000]

Pure epsilon, replace-one neighbours, as many synthetic rows as original ones. On acs all 1,771 triples are used.
A full run writes results/paper_accuracy.json and two plots.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from common import HERE, Original, mean_and_error, save

import privbayes as pb

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
VARIANTS: dict[str, tuple[dict[str, Any], ...]] = {
    "nltcs": ({"score": "F"}, {"score": "R"}, {"score": "I"}),
    "acs": ({"score": "F"}, {"score": "R"}, {"score": "I"}),
    "adult": ({"encoding": "hierarchical"}, {"encoding": "vanilla"}, {"encoding": "binary"}, {"encoding": "gray"}),
    "br2000": ({"encoding": "hierarchical"}, {"encoding": "vanilla"}, {"encoding": "binary"}, {"encoding": "gray"}),
}


def label(options: dict[str, Any]) -> str:
    return ", ".join(str(value) for value in options.values())


def measure(original: Original, epsilon: float, options: dict[str, Any], repeats: int) -> dict[str, Any]:
    pairs, triples, seconds = [], [], []
    for seed in range(repeats):
        start = time.perf_counter()
        model = pb.fit(original.table, original.schema, epsilon=epsilon, method="privbayes", **options)
        synthetic = model.sample(seed=seed, as_="arrow")
        seconds.append(time.perf_counter() - start)
        pairs.append(original.distance(synthetic, 2))
        triples.append(original.distance(synthetic, 3))
    return {
        "dataset": original.name, "variant": label(options), "epsilon": epsilon, "repeats": repeats,
        "tvd2": mean_and_error(pairs), "tvd3": mean_and_error(triples), "seconds": mean_and_error(seconds)[0],
    }  # fmt: skip


def plot(results: list[dict[str, Any]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["dataset"] for row in results))
    for k in (2, 3):
        figure, axes = plt.subplots(1, len(names), figsize=(4.2 * len(names), 3.6), squeeze=False)
        for panel, name in zip(axes[0], names, strict=True):
            rows = [row for row in results if row["dataset"] == name]
            for variant in dict.fromkeys(row["variant"] for row in rows):
                line = [row for row in rows if row["variant"] == variant]
                means, errors = zip(*(row[f"tvd{k}"] for row in line), strict=True)
                panel.errorbar(
                    [row["epsilon"] for row in line], means, errors, marker="o", ms=3, capsize=2, label=variant
                )
            panel.set(xscale="log", title=name, xlabel="epsilon", ylim=(0, None))
            panel.set_xticks(EPSILONS, [str(e) for e in EPSILONS])
            panel.minorticks_off()
            panel.grid(alpha=0.3)
            panel.legend(fontsize=8)
        axes[0][0].set_ylabel(f"mean total variation distance, {k}-way")
        figure.tight_layout()
        figure.savefig(HERE / "results" / f"paper_accuracy_{k}way.png", dpi=110)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--datasets", nargs="+", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--variants", nargs="+", help="such as: hierarchical vanilla (default: all)")
    arguments = parser.parse_args()
    results = []
    for name in arguments.datasets:
        original = Original(name)
        for options in VARIANTS[name]:
            if arguments.variants and label(options) not in arguments.variants:
                continue
            for epsilon in arguments.epsilons:
                row = measure(original, epsilon, options, arguments.repeats)
                results.append(row)
                print(
                    f"{name:7} {row['variant']:13} eps {epsilon:<5}"
                    f"  2-way {row['tvd2'][0]:.4f} (se {row['tvd2'][1]:.4f})"
                    f"  3-way {row['tvd3'][0]:.4f} (se {row['tvd3'][1]:.4f})  {row['seconds']:.2f} s",
                    flush=True,
                )
    if arguments.variants is None and arguments.epsilons == list(EPSILONS) and arguments.datasets == list(VARIANTS):
        save("paper_accuracy", results)
        plot(results)


if __name__ == "__main__":
    main()
