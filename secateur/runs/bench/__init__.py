"""Judge proxies of quality on tables of trained networks."""
