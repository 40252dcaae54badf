"""Rows and answers from a model."""
