"""Values and pure mathematics; knows nothing of rows or privacy."""
