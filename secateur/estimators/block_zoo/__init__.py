"""The block zoo: blocks cut out of a trained reference network and distilled on a few batches (Lee et al. 2022).

`distil.py` knows nothing of images: it makes any module answer like another.
"""
