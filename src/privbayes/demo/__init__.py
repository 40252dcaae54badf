"""A made-up clinic to try privbayes on without a private table at hand."""

__all__: list[str] = []
