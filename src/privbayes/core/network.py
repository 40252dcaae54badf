"""Attribute-parent pairs and the Bayesian network they form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from privbayes.core.domain import Domain

__all__ = ["AttributeParents", "BayesianNetwork", "Parent"]


@dataclass(frozen=True, order=True)
class Parent:
    """A generalised parent X^(level)."""

    attribute: int
    level: int = 0


@dataclass(frozen=True)
class AttributeParents:
    """One AP pair (X, Pi)."""

    child: int
    parents: tuple[Parent, ...] = ()

    def axes(self, domain: Domain) -> tuple[int, ...]:
        """The axes of the table Pr[X, Pi]: the child first, never generalised."""
        return (domain.axis(self.child), *(domain.axis(p.attribute, p.level) for p in self.parents))


@dataclass(frozen=True)
class BayesianNetwork:
    """N = (X_1, Pi_1), ..., (X_d, Pi_d): every attribute once, parents before their children."""

    pairs: tuple[AttributeParents, ...]

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for pair in self.pairs:
            parents = [parent.attribute for parent in pair.parents]
            if pair.child in seen or len(set(parents)) != len(parents) or not seen.issuperset(parents):
                raise ValueError("a network lists every attribute once, after its parents")
            seen.add(pair.child)
        if seen != set(range(len(self.pairs))):
            raise ValueError("a network lists every attribute")

    @property
    def degree(self) -> int:
        """The largest number of parents."""
        return max((len(pair.parents) for pair in self.pairs), default=0)

    @staticmethod
    def of_names(domain: Domain, parents: Mapping[str, Sequence[str | tuple[str, int]]]) -> BayesianNetwork:
        """From names: ``{"child": ["parent", ("generalised parent", level)], ...}``, in any order.

        Raises ValueError with a reason when it is not an acyclic network over exactly the attributes of the domain.
        """
        index = {name: i for i, name in enumerate(domain.names)}
        unknown = [name for name in parents if name not in index]
        if unknown or len(parents) != len(domain):
            missing = [name for name in domain.names if name not in parents]
            raise ValueError(
                f"it must name every attribute once (unknown: {unknown or 'none'}, missing: {missing or 'none'})"
            )
        pairs: dict[int, AttributeParents] = {}
        for child, given in parents.items():
            members: list[Parent] = []
            for item in given:
                name, level = (item, 0) if isinstance(item, str) else item
                if name not in index:
                    raise ValueError(f"{child!r} has the unknown parent {name!r}")
                if not 0 <= level < domain.attributes[index[name]].height:
                    raise ValueError(f"{name!r} has no level {level}")
                members.append(Parent(index[name], level))
            pairs[index[child]] = AttributeParents(index[child], tuple(members))
        waiting = list(pairs.values())
        ordered: list[AttributeParents] = []
        placed: set[int] = set()
        while waiting:  # the first that is ready: an order that is already right stays as it is
            ready = next((p for p in waiting if placed.issuperset(q.attribute for q in p.parents)), None)
            if ready is None:
                raise ValueError("its edges form a cycle")
            waiting.remove(ready)
            ordered.append(ready)
            placed.add(ready.child)
        return BayesianNetwork(tuple(ordered))

    @staticmethod
    def from_plain(domain: Domain, links: Mapping[str, Sequence[Sequence[str | int]]]) -> BayesianNetwork:
        """From what `to_names` gave, as a model file holds it."""
        named = {str(child): [(str(name), int(level)) for name, level in parents] for child, parents in links.items()}
        return BayesianNetwork.of_names(domain, named)

    def to_names(self, domain: Domain) -> dict[str, list[list[str | int]]]:
        """Child name to [parent name, level] pairs, in the order of the network."""
        return {
            domain.names[pair.child]: [[domain.names[p.attribute], p.level] for p in pair.parents]
            for pair in self.pairs
        }
