"""What every column kind shares: the codes of `other` and of missing, labels and generalisations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, ClassVar

from privbayes.errors import SchemaError

__all__ = ["Column", "Value", "check_flag", "is_integer", "shown"]

Value = str | int | float


def shown(value: object) -> str:
    """A value of the schema, cut short, for the one line of an error."""
    text = value.isoformat() if isinstance(value, date) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_integer(value: object) -> bool:
    """A whole number; Python counts booleans among those, a schema does not."""
    return isinstance(value, int) and not isinstance(value, bool)


def check_flag(name: str, value: object) -> None:
    """Refuse anything but true and false."""
    if not isinstance(value, bool):
        raise SchemaError(f"{name} must be true or false, not {shown(value)}")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column of the schema. The codes of a modelled column are its declared values or bins in order, then `other`
    if it is declared, then missing if the column is nullable.
    """

    kind: ClassVar[str] = ""
    modelled: ClassVar[bool] = True

    nullable: bool = False

    def __post_init__(self) -> None:
        check_flag("nullable", self.nullable)

    @property
    def n_values(self) -> int:
        """Number of declared values, or of bins."""
        raise NotImplementedError

    @property
    def has_other(self) -> bool:
        """Values that are not declared have a code of their own."""
        return False

    @property
    def other_code(self) -> int | None:
        """The code of every value that is not declared, if there is one."""
        return self.n_values if self.has_other else None

    @property
    def missing_code(self) -> int | None:
        """The code of a missing cell, if there is one."""
        return self.n_values + self.has_other if self.nullable else None

    @property
    def cardinality(self) -> int:
        """|dom(X)|: declared values or bins, `other` and missing."""
        return self.n_values + self.has_other + self.nullable

    @cached_property
    def value_labels(self) -> tuple[str, ...]:
        """Human labels of the declared values or bins alone."""
        raise NotImplementedError

    def labels(self) -> tuple[str, ...]:
        """Human labels of all codes; they are distinct."""
        labels = self.value_labels
        if self.has_other:
            labels += ("other",)
        if self.nullable:
            missing = "missing"
            while missing in labels:
                missing = f"({missing})"
            labels += (missing,)
        return labels

    def levels(self) -> tuple[tuple[int, ...], ...]:
        """Generalisations of the codes for `core.domain.Attribute`; level 0 is the identity."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain values that `schema.parse` reads back; keys left at their default are left out."""
        entry: dict[str, Any] = {"type": self.kind}
        entry.update(self._own_entries())
        if self.nullable:
            entry["nullable"] = True
        return entry

    def _own_entries(self) -> dict[str, Any]:
        return {}
