"""Runs of `secateur cells`."""
