"""Evaluate proxies for quality on tables of trained networks."""
