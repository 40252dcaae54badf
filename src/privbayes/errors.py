"""The errors a user can meet: what was given, what is allowed, what to do next. None of them quotes a cell."""

__all__ = ["BudgetError", "ModelFileError", "PrivBayesError", "SchemaError", "TableError", "UnsupportedError"]


class PrivBayesError(Exception):
    """Base of everything privbayes raises on purpose; its text is one line, fit to show to a user."""


class SchemaError(PrivBayesError):
    """The schema is not valid, or does not describe the table (names a column and a rule, never a value of a row)."""


class TableError(PrivBayesError):
    """The table cannot be read: missing, empty, ragged, not UTF-8, or of an unknown format."""


class BudgetError(PrivBayesError):
    """A spend was refused, or the privacy parameters make no sense."""


class UnsupportedError(PrivBayesError):
    """What was asked for is well formed but cannot be done: too many cells, a score without a bound."""


class ModelFileError(PrivBayesError):
    """A model file is damaged, cut short, foreign or of a newer version."""
