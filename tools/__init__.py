"""What publishes and compares the book, and stands outside its package.

`manifest` is the records of all chapters with the verdicts and what they were computed from,
`reproduction` compares two of them, `article` reports the replication, `bundle` writes the files of
a release, `hub` the folders for a model hub, and `gain` says what a group has learned.
"""
