"""Merging cliques into clusters: against brute force, against the paper's relaxation, and how long it takes.

    python benchmarks/clusters.py                  # all three; the relaxation needs the extra `cccp`

Cliques are those of triangulated random graphs over attributes of 2 to 8 values.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from math import prod

import numpy as np
from common import save

from privbayes.core.clique_tree import triangulate
from privbayes.structure.clusters import EXACT, form_clusters, noise_variance

Cliques = tuple[tuple[int, ...], ...]


def instance(seed: int, cliques: int) -> tuple[Cliques, list[int]]:
    """So many cliques of a random graph."""
    rng = np.random.default_rng(seed)
    nodes = cliques + 6
    sizes = rng.integers(2, 9, nodes).tolist()
    edges = [(int(rng.integers(0, i)), i) for i in range(1, nodes) if rng.random() < 0.95]
    edges += [tuple(rng.integers(0, nodes, 2).tolist()) for _ in range(nodes // 4)]
    return triangulate(sizes, edges)[:cliques], sizes


def partitions(items: Sequence[int]) -> Iterator[list[list[int]]]:
    """All of them."""
    if not items:
        yield []
        return
    for partition in partitions(items[1:]):
        yield [[items[0]], *partition]
        for k, group in enumerate(partition):
            yield [*partition[:k], [items[0], *group], *partition[k + 1 :]]


def brute_force(cliques: Cliques, sizes: Sequence[int]) -> int:
    return min(
        len(partition) ** 2
        * sum(len(group) * prod(sizes[a] for a in {a for i in group for a in cliques[i]}) for group in partition)
        for partition in partitions(range(len(cliques)))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--relaxations", type=int, default=20)
    options = parser.parse_args()
    form_clusters(*instance(0, EXACT + 1))  # compiles
    form_clusters(*instance(0, 3))

    equal = 0
    for seed in range(options.instances):
        cliques, sizes = instance(seed, 2 + seed % 6)
        equal += noise_variance(form_clusters(cliques, sizes), sizes) == brute_force(cliques, sizes)
    print(f"equal to brute force: {equal} of {options.instances} instances of up to 7 cliques")

    compared = []
    for seed in range(options.relaxations):
        cliques, sizes = instance(10_000 + seed, 8 + seed % 11)
        start = time.perf_counter()
        relaxed = noise_variance(form_clusters(cliques, sizes, merge="cccp"), sizes)
        middle = time.perf_counter()
        mine = noise_variance(form_clusters(cliques, sizes), sizes)
        end = time.perf_counter()
        alone = noise_variance(form_clusters(cliques, sizes, merge="none"), sizes)
        row = {"cliques": len(cliques), "none": alone, "cccp": relaxed, "auto": mine}
        compared.append(row | {"cccp_s": middle - start, "auto_s": end - middle})
        print(compared[-1])
    worse = sum(row["auto"] > row["cccp"] for row in compared)
    print(f"worse than the relaxation: {worse} of {len(compared)} instances of 8 to 18 cliques")
    for name in ("cccp", "auto"):
        ratio = np.exp(np.mean([np.log(row[name] / row["none"]) for row in compared]))
        print(f"{name}: variance {ratio:.3f} of that without merging (geometric mean)")

    timed = []
    for count in (EXACT, 20, 40, 100, 300):
        seconds = []
        for seed in range(3):
            cliques, sizes = instance(20_000 + seed, count)
            start = time.perf_counter()
            form_clusters(cliques, sizes)
            seconds.append(time.perf_counter() - start)
        timed.append({"cliques": count, "seconds": float(np.median(seconds))})
        print(timed[-1])
    print(save("clusters", {"equal": equal, "instances": options.instances, "relaxation": compared, "time": timed}))


if __name__ == "__main__":
    main()
