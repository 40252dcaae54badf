"""What can be said about a release: figures over codes, and comparisons with the table it came from."""

__all__: list[str] = []
