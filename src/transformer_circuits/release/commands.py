"""What the command line does for reviewers and for releases; modules are imported when needed."""

from transformer_circuits import files


def add_to(commands) -> None:
    """Add the commands to a parser's, `argparse`'s subparsers."""
    one = commands.add_parser("reproduce", help="compare what comes out here with results/")
    one.add_argument("--write", action="store_true", help="write results/ anew; compare nothing")
    commands.add_parser("article", help="write the article anew from results/manifest.json")
    commands.add_parser("colab-zip", help="write book.zip, which a chapter needs in Colab")
    one = commands.add_parser("release", help="write the files of a release")
    one.add_argument("version")
    one.add_argument("--check", action="store_true", help="only list what must be set before")
    one = commands.add_parser("hub", help="write a folder for a model hub of each model")
    one.add_argument(
        "names", nargs="*", metavar="NAME", help="only these; by default seed 0 of all"
    )
    one.add_argument("--owner", default="", help="the account on the hub, for the cards")


def reproduce(write: bool) -> None:
    """Execute what is missing, then compare what came out with `results/manifest.json`."""
    from transformer_circuits.book import notebooks
    from transformer_circuits.release import reproduction

    if missing := notebooks.stale():
        notebooks.execute(missing)
    said = reproduction.reproduce(notebooks.root(), write=write)
    print(f"{said}; chapters executed just now: {len(missing)} of {len(notebooks.names())}")


def article() -> None:
    """Write the replication article again, from the committed manifest."""
    from transformer_circuits.release import article, manifest

    committed = files.data_dir().parent / manifest.COMMITTED
    article.write(committed.with_name(article.NAME), manifest.read(committed))
    print(f"The article is at {committed.with_name(article.NAME)}")


def release(version: str, check: bool) -> None:
    """Write the files of a release, or only ask what must be set before."""
    from transformer_circuits.release import bundle

    root = files.data_dir().parent
    if check:
        bundle.require_none_unset(root, version)
        return
    for path in bundle.write(root, version):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")


def colab_zip() -> None:
    """Write `book.zip` for a book that is not released."""
    from transformer_circuits.release import bundle

    path = bundle.write_book_zip(files.data_dir().parent)
    print(f"{path}: {path.stat().st_size / 1e6:.1f} MB; upload it to Colab's files")


def hub(names: list[str], owner: str) -> None:
    """Write the folders for a model hub, with their cards; nothing is uploaded."""
    from transformer_circuits.release import hub

    for folder in hub.write(names, owner, files.data_dir().parent):
        megabytes = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6
        unset = ", ".join(hub.placeholders(folder))
        print(f"{folder}: {megabytes:.1f} MB" + (f"; not yet to upload: {unset}" if unset else ""))


ACTIONS = {
    "reproduce": reproduce, "article": article, "release": release, "colab-zip": colab_zip, "hub": hub,
}  # fmt: skip
"""What each of these commands calls."""
