"""The command line of reviewers and publishers: `python -m tools --help`, in the repository's root."""

from transformer_circuits import __main__ as cli
from transformer_circuits import files
from transformer_circuits.__main__ import option


def reproduce(write: bool) -> None:
    """Measure all controls anew, execute what is missing, and compare all with what is committed.

    With `--write`: only the controls that do not match the code, and what came out is written.
    """
    from tools import reproduction
    from transformer_circuits.book import notebooks

    if write:
        controls(everything=False)
        agree = "controls renewed where they did not match"
    else:
        agree = reproduction.require_same_controls()
    if missing := notebooks.stale():
        notebooks.execute(missing)
    said = reproduction.reproduce(notebooks.root(), write=write)
    executed = f"chapters executed just now: {len(missing)} of {len(notebooks.names())}"
    print(f"{said}; {agree}; {executed}")


def controls(everything: bool) -> None:
    """Measure what rules come to on controls and plants, and keep it in `data/controls.json`."""
    from tools import controls
    from transformer_circuits.claims import recorded

    for rows in controls.renewed(everything=everything):
        recorded.write(rows)
    print(f"{recorded.path()}: what {len(rows)} rules come to on their controls")


def article() -> None:
    """Write the replication article again, from the committed manifest."""
    from tools import article, manifest

    committed = files.data_dir().parent / manifest.COMMITTED
    article.write(committed.with_name(article.NAME), manifest.read(committed))
    print(f"The article is at {committed.with_name(article.NAME)}")


def release(version: str, check: bool) -> None:
    """Write the files of a release, or only ask what must be set before."""
    from tools import bundle

    root = files.data_dir().parent
    if check:
        bundle.require_none_unset(root, version)
        return
    for path in bundle.write(root, version):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def colab_zip(student: bool) -> None:
    """Write `book.zip` and `book-all.zip`, with what chapters need in Colab, without a release."""
    from tools import bundle

    write = bundle.write_student_zips if student else bundle.write_book_zips
    for path in write(files.data_dir().parent):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; upload it to Colab's files")


def hub(names: list[str], owner: str) -> None:
    """Write the folders for a model hub, with their cards; nothing is uploaded."""
    from tools import hub

    for folder in hub.write(names, owner, files.data_dir().parent):
        megabytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
        unset = ", ".join(hub.placeholders(folder))
        print(f"{folder}: {megabytes:.1f} MB" + (f"; not yet to upload: {unset}" if unset else ""))


def gain(paths: list[str]) -> None:
    """Say what a group has learned, of the files that the page *Before and after* saves."""
    from pathlib import Path

    from tools import gain

    print(gain.report(gain.read(map(Path, paths))))


COMMANDS: dict[str, tuple] = {
    "reproduce": (
        reproduce,
        option("--write", action="store_true", help="write results/ anew; compare nothing"),
    ),
    "controls": (
        controls,
        option(
            "--everything", action="store_true", help="also what matches code, weights and text"
        ),
    ),
    "article": (article,),
    "release": (
        release,
        option("version"),
        option("--check", action="store_true", help="only list what must be set before"),
    ),
    "colab-zip": (
        colab_zip,
        option("--student", action="store_true", help="those of the edition without solutions"),
    ),
    "hub": (
        hub,
        option("names", nargs="*", metavar="NAME", help="only these; by default seed 0 of all"),
        option("--owner", default="", help="the account on the hub, for the cards"),
    ),
    "gain": (gain, option("paths", nargs="+", metavar="FILE", help="saved by the page")),
}


def main(arguments: list[str] | None = None) -> None:
    """Do what the command line asks for."""
    cli.main(arguments, COMMANDS, "python -m tools")


if __name__ == "__main__":
    main()
