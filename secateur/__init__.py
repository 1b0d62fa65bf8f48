"""Secateur: the sub-networks of a Transformer that trade quality against cost best, as checkpoints that load."""

__version__ = "0.1.0"
