"""Figure 4 of the paper: sum of mutual information over the network that each score selects, against epsilon.

    python benchmarks/score_functions.py [--repeats 20]

Only the structure is compared: the degree (or cell limit) is what the papers' defaults give at that epsilon.
"""

from __future__ import annotations

import argparse
from typing import Any

from common import HERE, Original, mean_and_error, save

import privbayes as pb
from privbayes.privacy.noise import ScriptedNoise

EPSILONS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
SETTINGS = {"nltcs": ("I", "F", "R"), "acs": ("I", "F", "R"), "adult": ("I", "R"), "br2000": ("I", "R")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=20)
    repeats = parser.parse_args().repeats
    results: list[dict[str, Any]] = []
    for name, scores in SETTINGS.items():
        original = Original(name)
        for epsilon in EPSILONS:
            for score in (*scores, "no noise"):
                values = []
                for _ in range(repeats):
                    private = score != "no noise"
                    model = pb.fit(
                        original.table, original.schema, epsilon=epsilon, method="privbayes", encoding="vanilla",
                        score=score if private else "I", noise=None if private else ScriptedNoise(),
                    )  # fmt: skip
                    values.append(original.mutual_information(model.describe()["network"]))
                mean, error = mean_and_error(values)
                results.append(
                    {"dataset": name, "score": score, "epsilon": epsilon, "bits": (mean, error), "repeats": repeats}
                )
                print(f"{name:7} eps {epsilon:<5} {score:9} sum of I = {mean:.3f} (se {error:.3f})", flush=True)
    save("score_functions", results)
    plot(results)


def plot(results: list[dict[str, Any]]) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(SETTINGS), figsize=(4.2 * len(SETTINGS), 3.6))
    for panel, (name, scores) in zip(axes, SETTINGS.items(), strict=True):
        for score in (*scores, "no noise"):
            line = [row for row in results if row["dataset"] == name and row["score"] == score]
            means, errors = zip(*(row["bits"] for row in line), strict=True)
            panel.errorbar([row["epsilon"] for row in line], means, errors, marker="o", ms=3, capsize=2, label=score)
        panel.set(xscale="log", title=name, xlabel="epsilon")
        panel.set_xticks(EPSILONS, [str(e) for e in EPSILONS])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.legend(fontsize=8)
    axes[0].set_ylabel("sum of mutual information (bits)")
    figure.tight_layout()
    figure.savefig(HERE / "results" / "score_functions.png", dpi=110)


if __name__ == "__main__":
    main()
