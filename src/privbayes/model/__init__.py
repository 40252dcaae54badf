"""INFER: distributions made of released values."""
