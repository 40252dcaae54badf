"""The command line: one file per verb, each turning arguments into calls of `privbayes.api`."""

__all__: list[str] = []
