"""Rules: their search, their losses, ensembles of them and fewer of them."""
