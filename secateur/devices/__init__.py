"""How a network is measured on this machine: latency, peak memory, and whether the machine was busy meanwhile.

`setup.py` says how to measure; it, `cores.py` and `launch.py` import no torch when they load, everything else does.
"""
