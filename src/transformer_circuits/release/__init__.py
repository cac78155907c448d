"""What a reviewer checks, and what is handed out.

`numbers` are those that a figure carries, `manifest` is all of them with the verdicts and what they
were computed from, `comparison` is two manifests side by side, `article` reports the replication,
and `bundle` writes the files of a release.
"""
