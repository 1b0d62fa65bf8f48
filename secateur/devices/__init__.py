"""How a network is measured on this machine: latency, peak memory, and whether the machine was busy meanwhile.

`setup.py` says how to measure and imports no torch; everything else does.
"""
