"""BUY: noisy tables through the ledger."""
