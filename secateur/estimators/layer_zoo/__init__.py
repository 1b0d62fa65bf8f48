"""The block zoo of Lee et al. (2022) for Transformers: pruned layers, each distilled by itself on a few batches.

A file each: `blocks` (which layer stands for which part of the network), `features` (what the teacher's layers read and write),
`distilling`, `zoo` (built lazily and kept), and `error` (an assembled network's, as an estimator).
"""
