"""How a network is measured on this machine: latency, peak memory, and whether the machine was busy meanwhile.

`setup.py` says how to measure; it and `cores.py` import no torch, everything else does.
"""
