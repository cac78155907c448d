"""Tools that compare the book and hand it out, outside of its package.

`manifest` has the records of all chapters with the verdicts and the hashes of their sources,
`reproduction` compares two of them, `controls` measures the controls anew, `colab` writes the
archives for Colab, `trainings` makes the trainings beside the book's own (`changed_layers` has
their layers), and `gain` reports a group's learning.
"""
