"""Fit, query and evaluate surrogates that answer with learning curves."""
