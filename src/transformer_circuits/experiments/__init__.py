"""Long runs: the analysis over several seeds, the speed next to others.

May import everything but the command line.
"""
