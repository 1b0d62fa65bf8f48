"""Pruning by the Fisher information of masks (Kwon et al. 2022, "A fast post-training pruning framework for Transformers").

The stages, a file each: `information`, `search`, `rearrange`, `tune`, `fold`.
"""
