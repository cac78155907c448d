"""Long runs: what is measured along them, trainings that differ in a choice, the speed next to others.

May import everything but `claims` and the command line.
"""
