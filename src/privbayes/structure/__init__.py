"""SELECT: which marginals to buy."""
