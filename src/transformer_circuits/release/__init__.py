"""What a reviewer checks, and what is handed out.

`manifest` is the records of all chapters with the verdicts and what they were computed from,
`reproduction` compares two of them, `article` reports the replication, `bundle` writes the files of
a release, and `hub` the folders for a model hub.
"""
