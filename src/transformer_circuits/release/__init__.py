"""What a reviewer checks, and what is handed out.

`manifest` is the records of all chapters with the verdicts and what they were computed from,
`comparison` is two manifests side by side, `article` reports the replication,
and `bundle` writes the files of a release.
"""
