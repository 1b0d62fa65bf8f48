"""Pruning by masks that are learnt end to end (HM-NAS: Yan 2022, chapter 2), for Transformers.

A file each: `step` (thresholding), `scores` (the masks of three levels), `switching` (a network under masks), `spending` (what
masks cost, and how a budget is kept), `training`, and `method`.
"""
