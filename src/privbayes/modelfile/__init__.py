"""Model files: layout, writing, reading."""
