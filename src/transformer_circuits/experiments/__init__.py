"""Long runs: measurements along them, and records of trainings that differ in a choice.

May import everything but `claims` and the command line.
"""
