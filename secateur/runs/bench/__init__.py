"""Compare searchers, predictors, proxies and pruning methods."""
