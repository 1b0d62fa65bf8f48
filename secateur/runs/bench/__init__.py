"""Benches: which proxy is better, judged on tables of trained networks."""
