"""Long runs: the analysis over several seeds, trainings that differ in one choice, the speed next to others.

May import everything but the command line.
"""
