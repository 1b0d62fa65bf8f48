"""A surrogate of NAS-Bench-101: trees fitted on the cells that a table holds, which answer for all 423,624."""
