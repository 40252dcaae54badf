"""Cells to codes and back, and how each encoding lays a column out as attributes."""
