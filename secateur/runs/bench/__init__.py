"""Compare searchers, proxies and pruning methods."""
