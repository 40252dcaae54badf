"""Networks at epsilon 50, 5, 0.5 and 0.05, drawn (thesis, section 4.2.1).

    python experiments/networks.py [--repeats 200]

Five coins cut from a correlated normal vector, 1,000 rows. Above, one network a budget as PrivBayes grows it with at
most three parents, as in the thesis, and the first column fixed; below, how often each pair is linked when a column may
have one parent: there a good network is the chain Z1 - Z2 - Z3 - Z4 - Z5, as neighbours share most.
"""

from __future__ import annotations

import argparse
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
from common import BITS, COLOURS, COPULA, INK, bits_schema, bits_table, copula_bits, pyplot, save

import privbayes as pb
from privbayes.privacy.noise import ScriptedNoise

EPSILONS = (50.0, 5.0, 0.5, 0.05)
N = 1_000
ANGLES = np.pi / 2 - 2 * np.pi * np.arange(5) / 5
PLACES = dict(zip(BITS, np.column_stack([np.cos(ANGLES), np.sin(ANGLES)]), strict=True))
CHAIN = {frozenset(pair) for pair in pairwise(BITS)}

Network = dict[str, list[str]]


def grown(bits: Any, epsilon: float | None, degree: int, **options: Any) -> Network:
    """The network of one fit; without epsilon, of a noise-free one."""
    noise = {"noise": ScriptedNoise()} if epsilon is None else {}
    model = pb.fit(
        bits_table(bits), bits_schema(), epsilon=epsilon or 1.0, method="privbayes", score="I", max_parents=degree,
        **noise, **options,
    )  # fmt: skip
    return {child: [name for name, _ in parents] for child, parents in model.describe()["network"].items()}


def information(bits: Any, network: Network) -> float:
    """Sum of I(X, Pi) in bits, on the original rows."""
    total = 0.0
    for child, parents in network.items():
        if parents:
            code = sum(bits[:, BITS.index(name)] << i for i, name in enumerate(parents))
            joint = np.zeros((2, 2 ** len(parents)))
            np.add.at(joint, (bits[:, BITS.index(child)], code), 1 / len(bits))
            product = joint.sum(1, keepdims=True) * joint.sum(0)
            seen = joint > 0
            total += float((joint[seen] * np.log2(joint[seen] / product[seen])).sum())
    return total


def draw_nodes(panel: Any) -> None:
    """The five columns on a circle."""
    for name, place in PLACES.items():
        panel.annotate(
            name, place, ha="center", va="center", fontsize=9, color=INK, zorder=5,
            bbox={"boxstyle": "circle,pad=0.35", "fc": "white", "ec": INK, "lw": 1.2},
        )  # fmt: skip
    panel.set(xlim=(-1.35, 1.35), ylim=(-1.3, 1.35), aspect="equal")
    panel.axis("off")


def say(panel: Any, text: str) -> None:
    """A few words under a drawing."""
    panel.text(0, -1.35, text, ha="center", va="top", fontsize=8.5, color=INK)


def draw_network(panel: Any, network: Network) -> None:
    """Arrows from parents to children; orange where the pair is no neighbours in the chain."""
    for child, parents in network.items():
        for parent in parents:
            near = frozenset((child, parent)) in CHAIN
            panel.annotate(
                "", PLACES[child], PLACES[parent],
                arrowprops={
                    "arrowstyle": "-|>", "color": COLOURS[0] if near else COLOURS[1], "lw": 1.6,
                    "shrinkA": 13, "shrinkB": 13, "mutation_scale": 11,
                },
            )  # fmt: skip
    draw_nodes(panel)


def draw_frequencies(panel: Any, links: Counter[frozenset[str]], repeats: int) -> None:
    """A line a pair, as wide as the pair is often linked."""
    for i, first in enumerate(BITS):
        for second in BITS[i + 1 :]:
            share = links[frozenset((first, second))] / repeats
            near = frozenset((first, second)) in CHAIN
            xs, ys = zip(PLACES[first], PLACES[second], strict=True)
            panel.plot(xs, ys, color=COLOURS[0] if near else COLOURS[1], lw=7 * share, zorder=2 if near else 1)
    draw_nodes(panel)


def main() -> None:
    """Run and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    plt = pyplot()
    rng = np.random.default_rng(4)
    bits = copula_bits(N, rng)
    figure, panels = plt.subplots(2, 5, figsize=(12, 6.4))
    results: list[dict[str, Any]] = []
    for column, epsilon in enumerate((None, *EPSILONS)):
        title = "no noise" if epsilon is None else f"epsilon {epsilon:g}"
        above = grown(bits, epsilon, 3, first="Z1")
        share = information(bits, above) / information(bits, grown(bits, None, 3, first="Z1"))
        draw_network(panels[0, column], above)
        panels[0, column].set_title(title)
        say(panels[0, column], f"{share:.0%} of the information")
        links: Counter[frozenset[str]] = Counter()
        kept = []
        tree = information(bits, grown(bits, None, 1))
        for _ in range(1 if epsilon is None else repeats):
            network = grown(bits, epsilon, 1)
            links.update(frozenset((child, parents[0])) for child, parents in network.items() if parents)
            kept.append(information(bits, network) / tree)
        draw_frequencies(panels[1, column], links, 1 if epsilon is None else repeats)
        in_chain = sum(links[pair] for pair in CHAIN) / max(1, links.total())
        say(panels[1, column], f"{in_chain:.0%} of links in the chain\n{np.mean(kept):.0%} of the information")
        results.append(
            {
                "epsilon": epsilon, "network": above, "information_share": share,
                "links_in_chain": in_chain, "tree_information_share": float(np.mean(kept)),
            }
        )  # fmt: skip
        print(
            f"{title:13} 3 parents: {share:.3f}   1 parent: {np.mean(kept):.3f}, {in_chain:.0%} of links in the chain"
        )
    figure.suptitle("PrivBayes on five correlated coins, 1,000 rows", x=0.01, ha="left", fontweight="bold")
    figure.text(0.01, 0.92, "One network, at most three parents a column, Z1 first")
    figure.text(0.01, 0.47, f"At most one parent a column: lines as wide as the pair is often linked in {repeats} fits")
    figure.text(0.01, 0.015, "blue: neighbours in the chain Z1 - Z2 - Z3 - Z4 - Z5 (correlation .6)", color=COLOURS[0])
    figure.text(0.40, 0.015, "orange: the other pairs (.5 to .3)", color=COLOURS[1])
    figure.subplots_adjust(left=0.01, right=0.99, top=0.86, bottom=0.12, hspace=0.55, wspace=0.05)
    save("networks", figure, {"repeats": repeats, "correlation": COPULA.tolist(), "results": results})
    plt.close(figure)


if __name__ == "__main__":
    main()
