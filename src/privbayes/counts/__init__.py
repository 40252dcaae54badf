"""Exact marginal counts from any engine."""
