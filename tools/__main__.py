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
    comparison = reproduction.reproduce(notebooks.root(), write=write)
    executed = f"chapters executed just now: {len(missing)} of {len(notebooks.names())}"
    print(f"{comparison}; {agree}; {executed}")


def controls(everything: bool) -> None:
    """Measure the values of rules on controls and plants, and keep them in `data/controls.json`."""
    from tools import controls
    from transformer_circuits.claims import recorded

    for rows in controls.renewed(everything=everything):
        recorded.write(rows)
    print(f"{recorded.path()}: what {len(rows)} rules come to on their controls")


def colab_zip(student: bool) -> None:
    """Write `book.zip` and `book-all.zip`, with what chapters need in Colab."""
    from tools import colab

    for path in colab.write(files.data_dir().parent, student=student):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; upload it to Colab's files")


def book(edition: str | None) -> None:
    """Build the book of what was executed, or the edition for participants."""
    from website import building

    print(f"The book is at {building.build(edition) / 'index.html'}")


def trainings() -> None:
    """Make the trainings of `data/trainings/plan.toml` that have no record yet."""
    from tools import trainings

    trainings.write()


def gain(paths: list[str]) -> None:
    """Report the gain of a group, from the files that the page *Before and after* saves."""
    from pathlib import Path

    from tools import gain

    print(gain.report(gain.read(map(Path, paths))))


COMMANDS: dict[str, tuple] = {
    "book": (book, option("edition", nargs="?", choices=("student",))),
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
    "colab-zip": (
        colab_zip,
        option("--student", action="store_true", help="those of the edition without solutions"),
    ),
    "trainings": (trainings,),
    "gain": (gain, option("paths", nargs="+", metavar="FILE", help="saved by the page")),
}


def main(arguments: list[str] | None = None) -> None:
    """Run the command on the command line."""
    cli.main(arguments, COMMANDS, "python -m tools")


if __name__ == "__main__":
    main()
