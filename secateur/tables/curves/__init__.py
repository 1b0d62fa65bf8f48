"""Surrogates that answer with whole learning curves: fitted to a table's trainings, they are tables themselves."""
