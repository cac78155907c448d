"""What compares the book and hands it out, and stands outside its package.

`manifest` is the records of all chapters with the verdicts and what they were computed from,
`reproduction` compares two of them, `controls` measures the controls anew, `colab` writes the archives
for Colab, `trainings` makes the trainings beside the book's own (`changed_layers` has their layers), and
`gain` says what a group has learned.
"""
