"""The command line: `python -m transformer_circuits --help`.

Each command imports its modules itself, so that `execute` with nothing to do returns at once.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformer_circuits import files


def data(profile: str) -> None:
    """Fetch and build the text of a profile."""
    from transformer_circuits.text import corpus

    for split, path in corpus.build(profile).items():
        print(
            f"{profile} {split}: {path.stat().st_size / 1e6:.1f} MB, sha256 {files.sha256(path)[:16]}…"
        )


def vocabulary(n_vocab: int, english: bool, output: Path | None) -> None:
    """Train the tokenizer on `corpus.VOCABULARY`; write it to data/tokenizer.json, or to OUTPUT."""
    from transformer_circuits.text import vocabulary

    vocabulary.write(n_vocab, output or files.data_dir() / "tokenizer.json", english=english)


def train(name: str, seed: int | None, folder: Path | None, compile: bool | None) -> None:
    """Train the model called `name`, written where its config lies; resume if it was interrupted.

    Another seed than the one of the config gives a model of its own, NAME-seed-N, beside it.
    """
    from transformer_circuits.experiments import development
    from transformer_circuits.training import runs

    run = runs.prepare(name, seed=seed, folder=folder, compile=compile, probe=development.probe)
    for record in run.records():
        if not sys.stderr.isatty():
            print(files.as_json(record), file=sys.stderr, flush=True)
    nats = run.save()
    print(f"{run.name}: {nats:.4f} nats per held-out token, saved in {run.folder}")


def evaluate(name: str) -> None:
    """Loss of a trained model on held-out text, with its `uncertainty`: the number that the book gives."""
    from transformer_circuits.model import cross_entropy
    from transformer_circuits.text import corpus
    from transformer_circuits.training import checkpoint

    model = checkpoint.load(name)
    loss = cross_entropy.evaluate(model, corpus.tokens("small", "validation"))
    nats, either_way = float(loss.mean()), cross_entropy.uncertainty(loss)
    print(f"{name}: {nats:.4f} nats per token on held-out text, ± {either_way:.2f} ", end="")
    print(f"(two standard errors over {len(loss)} windows)")


def card(
    model: str, config: Path | None, names: Path | None, begin: int | None, folder: Path
) -> None:
    """Write the card of any attention-only model: heads, circuits, and the rule on induction heads."""
    from transformer_circuits.claims import card

    print(card.write(model, folder, config, names=names, begin=begin))
    print(f"{folder}/card.txt is this text; {folder}/card.json has all of it as data")


def execute(chapters: list[str], again: bool) -> None:
    """Execute chapters whose code, modules, data or packages changed; with `again` all of them."""
    from transformer_circuits.book import notebooks

    wanted = chapters or notebooks.names()
    if unknown := sorted(set(wanted) - set(notebooks.names())):
        raise files.UserError(f"there is no chapter {unknown}; there are {notebooks.names()}")
    stale = notebooks.stale()
    chosen = wanted if again else [chapter for chapter in wanted if chapter in stale]
    if {*notebooks.READERS} & {*chosen}:  # they read what all others found
        chosen = {*chosen, *stale}
    if chosen:
        from transformer_circuits.claims import catalogue

        if anew := catalogue.measured_again():
            print(
                f"controls of {len(anew)} rules are measured again, since code, weights or text are "
                "others: minutes more, until `python -m tools controls` keeps them",
                flush=True,
            )
        notebooks.execute(chosen)
    else:
        print(
            "nothing to execute: code, data and packages have not changed (--again does it anyway)"
        )


def chapters() -> None:
    """Write the first cell, with the address from `_config.yml`, into every chapter."""
    from transformer_circuits.book import first_cell

    first_cell.write()


def _token(text: str) -> int | None:
    return None if text == "none" else int(text)


def option(*names: str, **options: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Argument of a command, as `argparse` takes it."""
    return names, options


COMMANDS: dict[str, tuple] = {
    "data": (data, option("profile", choices=("small", "full"))),
    "vocabulary": (
        vocabulary,
        option("n_vocab", type=int),
        option("--english", action="store_true", help="and on words as common as in English"),
        option("--output", type=Path, help="write this file instead of data/tokenizer.json"),
    ),
    "train": (
        train,
        option("name"),
        option("--seed", type=int, help="another seed than the config's, for comparison"),
        option("--folder", type=Path, help="write here instead of data/models/NAME"),
        option("--no-compile", dest="compile", action="store_false", default=None),
    ),
    "eval": (evaluate, option("name")),
    "card": (
        card,
        option("model", metavar="MODEL", help="a folder, or a file of weights"),
        option("--config", type=Path, help="a JSON file of settings, where none lies beside the weights"),
        option("--names", type=Path, help="a JSON file that says which tensor is which part, where that is unclear"),
        option("--begin", type=_token, default=0, help="number of the token that opens its contexts (0), or none"),
        option("--folder", type=Path, default=Path("_build/card"), help="where it is written"),
    ),
    "execute": (
        execute,
        option("chapters", nargs="*", metavar="CHAPTER", help="only these"),
        option("--again", action="store_true", help="even if nothing changed"),
    ),
    "chapters": (chapters,),
}  # fmt: skip
"""Function of each command, whose docstring begins with its help, and its arguments."""


def _require_package_of_this_folder() -> None:
    """Refuse the package of another checkout: its data would be used with it."""
    here, taken = Path.cwd() / "src" / "transformer_circuits", Path(__file__).parent
    if here.is_dir() and not here.samefile(taken):
        raise files.UserError(
            f"this folder has a package of its own, {here}, but Python took {taken}; "
            f"set PYTHONPATH={here.parent}"
        )


def main(
    arguments: list[str] | None = None,
    commands: Mapping[str, tuple] = COMMANDS,
    program: str = "python -m transformer_circuits",
) -> None:
    """Run the command on the command line, by a table like `COMMANDS`.

    A `UserError`, an `OSError` or a diverged loss ends it with one line; any other error is a bug
    and keeps its traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # for terminals that know ASCII alone
    parser = argparse.ArgumentParser(prog=program)
    known = parser.add_subparsers(dest="command", required=True)
    for name, (function, *options) in commands.items():
        command_parser = known.add_parser(name, help=function.__doc__.splitlines()[0])
        for names, how in options:
            command_parser.add_argument(*names, **how)
    parsed = vars(parser.parse_args(arguments))
    command = parsed.pop("command")
    try:
        _require_package_of_this_folder()
        commands[command][0](**parsed)
    except (files.UserError, OSError, FloatingPointError) as error:
        sys.exit(f"{command}: {error}")
    except KeyboardInterrupt:
        print(f"\n{command}: stopped; the same command goes on from what was kept", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
