"""Power of Pearson's test on PrivBayes rows of five dependent coins, against beta and epsilon (thesis, 4.2.2, 4.2.3).

    python experiments/pearson_power.py [--repeats 120]

1,000 rows, at most three parents, as many synthetic rows; the test of Z1 against each other column at the 5% level.
Solid, this project's PrivBayes. Dashed, the procedure of the thesis' listing A.1: Laplace noise on the conditionals, of
scale d 2^(1+q) / (n eps2) for q parents. That one is NOT private: one row can turn a conditional over (docs/papers.md).
Grey, ours where all columns are independent: how often the test sees what is not there.
"""

from __future__ import annotations

import argparse
import itertools
from functools import cache
from typing import Any

import numpy as np
from common import BITS, COLOURS, COPULA, GREY, LEVEL, bits_schema, bits_table, copula_bits, of_table, pyplot, save
from numpy.typing import NDArray
from scipy import stats

import privbayes as pb

N, DEGREE = 1_000, 3
BETAS = np.round(np.linspace(0.1, 0.9, 9), 2)
EPSILONS = np.round(10 ** np.linspace(-2, 2, 13), 4)
CRITICAL = float(stats.chi2.ppf(1 - LEVEL, 1))

Bits = NDArray[np.int64]


def rejections(bits: Bits) -> NDArray[np.bool_]:
    """Pearson's test without correction of Z1 against Z2 .. Z5; a constant column shows nothing."""
    found = []
    for other in range(1, 5):
        table = np.zeros((2, 2))
        np.add.at(table, (bits[:, 0], bits[:, other]), 1)
        rows, columns = table.sum(1, keepdims=True), table.sum(0)
        expected = rows * columns / len(bits)
        found.append(bool((expected > 0).all() and ((table - expected) ** 2 / expected).sum() > CRITICAL))
    return np.array(found)


def ours(bits: Bits, epsilon: float, beta: float, rng: np.random.Generator) -> Bits:
    """A fit and as many rows."""
    model = pb.fit(
        bits_table(bits), bits_schema(), epsilon=epsilon, method="privbayes", beta=beta, max_parents=DEGREE, score="I"
    )
    return of_table(model.sample(len(bits), seed=int(rng.integers(2**31))), BITS).astype(np.int64)


@cache
def subsets(size: int) -> list[tuple[int, ...]]:
    """Every parent set of the columns before: 1 to DEGREE of them."""
    return [s for q in range(1, min(DEGREE, size) + 1) for s in itertools.combinations(range(size), q)]


def as_listed(bits: Bits, epsilon: float, beta: float, rng: np.random.Generator) -> Bits:
    """The thesis' listing, in its order Z1 .. Z5. For comparison: it does not have this epsilon."""
    n, d = bits.shape
    weights = 1 << np.arange(DEGREE)
    change = np.log2(n) / n + (n - 1) / n * np.log2(n / (n - 1))
    gamma = (d - 1) * change / (beta * epsilon)
    noisy = bits[:, 0].mean() * np.array([-1.0, 1.0]) + [1.0, 0.0]
    noisy = np.maximum(noisy + rng.laplace(0, 2 * d / (n * (1 - beta) * epsilon), 2), 0)
    made = np.empty_like(bits)
    made[:, 0] = rng.random(n) < (noisy[1] / noisy.sum() if noisy.sum() > 0 else 0.5)
    for child in range(1, d):
        sets = subsets(child)
        joints = []
        for parents in sets:
            joint = np.bincount(bits[:, parents] @ weights[: len(parents)] * 2 + bits[:, child], minlength=2)
            joints.append(np.pad(joint, (0, 2 ** (1 + len(parents)) - len(joint))).reshape(-1, 2) / n)
        scores = np.array([_information(joint) for joint in joints])
        chance = np.exp((scores - scores.max()) / (2 * gamma))
        pick = int(rng.choice(len(sets), p=chance / chance.sum()))
        parents, joint = sets[pick], joints[pick]
        mass = joint.sum(1, keepdims=True)
        conditional = np.where(mass > 0, joint / np.where(mass > 0, mass, 1), 0.5)
        conditional += rng.laplace(0, d * 2 ** (1 + len(parents)) / (n * (1 - beta) * epsilon), joint.shape)
        conditional = np.maximum(conditional, 0)
        mass = conditional.sum(1)
        chances = np.where(mass > 0, conditional[:, 1] / np.where(mass > 0, mass, 1), 0.5)
        made[:, child] = rng.random(n) < chances[made[:, parents] @ weights[: len(parents)]]
    return made


def _information(joint: NDArray[np.float64]) -> float:
    """In nats, as the listing's entropy does by default; its bound is in bits, which is on the safe side."""
    product = joint.sum(1, keepdims=True) * joint.sum(0)
    seen = joint > 0
    return float((joint[seen] * np.log(joint[seen] / product[seen])).sum())


def measure(epsilon: float, beta: float, repeats: int, rng: np.random.Generator) -> dict[str, Any]:
    """How often each test rejects."""
    shares = {
        "ours": np.mean([rejections(ours(copula_bits(N, rng), epsilon, beta, rng)) for _ in range(repeats)], axis=0),
        "listed": np.mean([rejections(as_listed(copula_bits(N, rng), epsilon, beta, rng)) for _ in range(repeats)], 0),
    }
    apart = np.eye(len(COPULA))
    for name, draw in (("independent", ours), ("listed independent", as_listed)):
        tests = [rejections(draw(copula_bits(N, rng, apart), epsilon, beta, rng)) for _ in range(repeats)]
        shares[name] = np.mean(tests, axis=0)
    row = {"epsilon": epsilon, "beta": beta, **{name: share.tolist() for name, share in shares.items()}}
    print(
        f"eps {epsilon:<8g} beta {beta:<4g} ours {shares['ours'].round(2)} listed {shares['listed'].round(2)} "
        f"independent {shares['independent'].mean():.2f} / {shares['listed independent'].mean():.2f}",
        flush=True,
    )
    return row


def draw(panel: Any, rows: list[dict[str, Any]], key: str) -> None:
    """Four pairs, ours and as listed, and the share of false alarms."""
    at = [row[key] for row in rows]
    for pair in range(4):
        colour = COLOURS[pair]
        panel.plot(at, [row["ours"][pair] for row in rows], color=colour, label=f"Z1, Z{pair + 2}")
        panel.plot(at, [row["listed"][pair] for row in rows], color=colour, ls="--", lw=1.1)
    panel.plot(at, [np.mean(row["independent"]) for row in rows], color=GREY, label="independent columns")
    panel.plot(at, [np.mean(row["listed independent"]) for row in rows], color=GREY, ls="--", lw=1.1)
    panel.axhline(LEVEL, color="#52514e", lw=0.8, ls=":")
    panel.set(ylim=(-0.03, 1.05), xlabel=key)


def finish(plt: Any, figure: Any, panels: Any, title: str, name: str, results: Any, repeats: int) -> None:
    """Legend, title, file."""
    handles, labels = panels[0].get_legend_handles_labels()
    line = plt.Line2D([], [], color="#52514e", ls="--", lw=1.1)
    panels[0].set_ylabel(f"share of {repeats} tests that reject")
    figure.legend(
        [*handles, line], [*labels, "dashed: as listed in the thesis, not private"], loc="lower center", ncols=6,
        fontsize=8.5,
    )  # fmt: skip
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    save(name, figure, {"repeats": repeats, "n": N, "degree": DEGREE, "results": results})
    plt.close(figure)


def main() -> None:
    """Run and draw both studies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=120)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(2)
    plt = pyplot()

    results = [measure(epsilon, beta, repeats, rng) for epsilon in (0.1, 1.0, 10.0, 100.0) for beta in BETAS.tolist()]
    figure, panels = plt.subplots(1, 4, figsize=(12, 3.9), sharey=True)
    for panel, epsilon in zip(panels, (0.1, 1.0, 10.0, 100.0), strict=True):
        draw(panel, [row for row in results if row["epsilon"] == epsilon], "beta")
        panel.set_title(f"epsilon {epsilon:g}")
    finish(plt, figure, panels, "Pearson's test on PrivBayes rows, against beta", "pearson_beta", results, repeats)

    results = [measure(epsilon, beta, repeats, rng) for beta in (0.2, 0.5, 0.8) for epsilon in EPSILONS.tolist()]
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.9), sharey=True)
    for panel, beta in zip(panels, (0.2, 0.5, 0.8), strict=True):
        draw(panel, [row for row in results if row["beta"] == beta], "epsilon")
        panel.set(xscale="log", title=f"beta {beta:g}")
    finish(
        plt, figure, panels, "Pearson's test on PrivBayes rows, against epsilon", "pearson_epsilon", results, repeats
    )


if __name__ == "__main__":
    main()
