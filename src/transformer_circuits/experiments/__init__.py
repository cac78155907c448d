"""Long runs: what is measured along them, the analysis over several seeds, trainings that differ in a
choice, the speed next to others.

May import everything but the command line.
"""
