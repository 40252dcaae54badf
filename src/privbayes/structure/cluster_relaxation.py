"""The paper's relaxation of merging cliques (JTree, problems (6) to (8)): one convex-concave program for each number of
clusters, rounded. Kept for comparison; the searches of `clusters` are faster and were never found to be worse.

z[i, k] in [0, 1] says how far clique i is in cluster k. The logarithm of a cluster's part of the variance is

    ln(sum_i z_ik) + sum_i z_ik ln p_i - sum_a ln c_a (sum_i z_ik o_ai - 1)_+

with p_i the cells of clique i, o_ai = 1 where it has attribute a, and c_a the values of a. As printed the last term
lacks its positive part, and then cancels the one before it, whatever z. Both concave parts, the first and the last,
are replaced by their tangents at the last solution, until that changes no more. The start, which the paper leaves open,
is random; equal shares would stay equal.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privbayes.errors import UnsupportedError
from privbayes.structure.clusters import Clusters, noise_variance

__all__ = ["relaxed_clusters"]

_DIFFERENT = 0.1  # lambda: what a difference between clusters is worth, in logarithms of the variance
_ROUNDS = 15
_STILL = 1e-3
_SEED = 20_150_810

Matrix = NDArray[np.float64]


def relaxed_clusters(
    cliques: Sequence[Sequence[int]], sizes: Sequence[int], *, most_cells: float, power: int
) -> Clusters:
    """The best rounded solution over all numbers of clusters, among those within the cell limit."""
    try:
        import cvxpy  # noqa: F401
    except ImportError:
        raise UnsupportedError('merge "cccp" needs cvxpy: pip install "privbayes[cccp]", or use merge "auto"') from None
    attributes = sorted({a for clique in cliques for a in clique})
    member = np.array([[a in set(clique) for a in attributes] for clique in cliques], np.float64)
    log_size = np.log([float(sizes[a]) for a in attributes])
    best = Clusters.of(cliques, range(len(cliques)))
    for m in range(1, len(cliques)):
        found = Clusters.of(cliques, _solve(member, log_size, m).argmax(axis=1))
        within = all(float(np.prod([float(sizes[a]) for a in table])) <= most_cells for table in found.tables)
        if within and noise_variance(found, sizes, power=power) < noise_variance(best, sizes, power=power):
            best = found
    return best


def _solve(member: Matrix, log_size: Matrix, m: int) -> Matrix:
    """Relaxed memberships for m clusters."""
    n = len(member)
    if m == 1:
        return np.ones((n, 1))
    z = np.random.default_rng(_SEED).dirichlet(np.ones(m), n)
    for _ in range(_ROUNDS):
        new = _step(member, log_size, z)
        if new is None:
            break
        change = float(np.abs(new - z).max())
        z = new
        if change < _STILL:
            break
    return z


def _step(member: Matrix, log_size: Matrix, last: Matrix) -> Matrix | None:
    """Problem (8): the tangent program at the last solution; None when the solver gives up."""
    import cvxpy

    cp: Any = cvxpy  # its types are partial
    n, m = last.shape
    z, t, r = cp.Variable((n, m), nonneg=True), cp.Variable(m), cp.Variable()
    number = np.maximum(last.sum(axis=0), 1e-6)
    doubled = member.T @ last - 1  # (attributes, clusters)
    slope = (doubled > 0).astype(np.float64)
    saved = cp.multiply(slope, member.T @ z - 1)
    parts = np.log(number) - 1 + cp.sum(z, axis=0) @ np.diag(1 / number) + (member @ log_size) @ z - log_size @ saved
    limits: list[Any] = [cp.sum(z, axis=1) == 1, cp.sum(z, axis=0) >= 1, parts <= t]
    for i, j in combinations(range(m), 2):
        apart = last[:, i] - last[:, j]
        limits.append(r <= 2 * (z[:, i] - z[:, j]) @ apart - float(apart @ apart))
    problem = cp.Problem(cp.Minimize(cp.log_sum_exp(t) - _DIFFERENT * r), limits)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of lost digits: what comes out is rounded anyway
            problem.solve(solver=cp.CLARABEL)
    except cp.SolverError:
        return None
    return None if z.value is None else np.asarray(z.value, np.float64)
