"""The one door for the budget; knows nothing of tables or methods."""
