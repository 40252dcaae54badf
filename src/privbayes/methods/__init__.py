"""One file per paper: which parts a method selects, buys and infers with."""
