"""`make reproduce`: compares what this machine finds with what the repository says."""

from pathlib import Path

from transformer_circuits import files
from transformer_circuits.release import article, comparison, manifest

MOST_LISTED = 100
"""Differences that are listed one by one; of more, only how many they are."""


def reproduce(root: Path, *, write: bool = False) -> str:
    """Compare the executed chapters with the committed manifest; the line that says they agree.

    This machine's own manifest and the article that follows from it are written into the folder of
    `manifest.REPRODUCED`. With `write` both are written into `results/`, too, and nothing is
    compared; so they are if nothing was committed yet.

    Raises:
        UserError: listing what differs beyond tolerance, if something does; naming the chapters, if
            some were not executed with the present code; naming a file that is damaged.
        OSError: as `files.atomic`.
    """
    now, committed = manifest.made(), root / manifest.COMMITTED
    own = root / manifest.REPRODUCED
    manifest.write(own, now)
    article.write(own.with_name(article.NAME), now)
    if write or not committed.is_file():
        manifest.write(committed, now)
        article.write(committed.with_name(article.NAME), now)
        return f"written: {committed} ({_counted(now)}) and {article.NAME} beside it"
    was = manifest.read(committed)
    try:
        found = comparison.differences(was, now)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise files.damaged(committed, f"is not a manifest: {error!r}") from error
    if found:
        listed = [str(each) for each in found[:MOST_LISTED]]
        if more := len(found) - len(listed):
            listed.append(f"and {more} more")
        raise files.UserError(
            f"not as committed in {committed}; this machine's own is {own}\n"
            + "\n".join(listed)
            + f"\ndifferences beyond tolerance: {len(found)}, among {_counted(was)}"
        )
    if not article.in_step(committed):
        raise files.UserError(
            f"{article.NAME} beside {committed} does not say what the manifest says; run "
            "`python -m transformer_circuits article`"
        )
    return f"reproduced: {_counted(was)} agree with {committed}, within its tolerances"


def _counted(found: dict) -> str:
    return ", ".join(f"{n} {what}" for what, n in comparison.n_compared(found).items())
