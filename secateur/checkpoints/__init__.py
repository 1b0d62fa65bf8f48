"""Reading networks and tokenizers: pre-trained ones, exported ones, and whatever a folder holds."""

from secateur.checkpoints.exported import load

__all__ = ["load"]
