"""What is public about a table: names, kinds, values, bounds, bins, taxonomies."""
