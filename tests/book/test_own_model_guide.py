"""The guide *Your own model* on models of other shapes than ours: it runs, or says what it needs."""

import dataclasses

import nbformat
import pytest
import torch
from conftest import SHAPE
from torch.overrides import TorchFunctionMode

from transformer_circuits import book
from transformer_circuits.analysis import heads
from transformer_circuits.book import notebooks
from transformer_circuits.figures import plots, tables
from transformer_circuits.model.transformer import Transformer

OURS_ALONE = {
    "own-01", "own-05", "own-08", "own-11", "own-19", "own-23", "own-27", "own-28d",
    "own-card-1", "own-card-2", "own-card-4", "own-card-7",
}  # fmt: skip
"""Cells that set up, that compare with our own loading, or that need our tokens or our file."""
EDGES = {"own-28c", "own-28t"}
"""Cells for models of exactly two layers."""


def run(generator, leave_out=frozenset(), **changed):
    """All other cells, with a random model in place of the loaded one; its last head matches best."""
    model = Transformer(
        dataclasses.replace(SHAPE, **{"n_ctx": 256, "n_vocab": 60, **changed})
    ).requires_grad_(False)
    model.randomise(generator=generator)
    cells = nbformat.read(notebooks.path("your-own-model"), as_version=4).cells
    names = {"book": book, "plots": plots, "tables": tables}
    for cell in cells:
        if cell.cell_type != "code" or cell.id in OURS_ALONE | leave_out:
            continue
        code = cell.source
        if cell.id == "own-07":
            code, names["model"] = "from transformer_circuits.text import tokenizer", model
        exec(compile(code, cell.id, "exec"), names)
        if cell.id == "own-17":
            names["matcher"] = heads.every(model)[-1]
    return names


@pytest.mark.parametrize("changed", [{}, {"n_ctx": 31}, {"n_vocab": 50}], ids=str)
def test_it_runs_on_any_model_of_two_layers(generator, changed):
    names = run(generator, **changed)
    assert len(names["edges"]) == min(5, 3 * names["config"].n_heads ** 2)
    assert names["back"].layer == 0 and len(names["copies_it"]) == names["config"].n_heads


def test_it_never_builds_the_square_of_a_vocabulary(generator):
    """With the 50,278 tokens of the paper's models that would be ten gigabytes for each circuit."""

    class NoSquare(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            if isinstance(made, torch.Tensor):
                assert sum(n >= 4096 for n in made.shape) < 2, func
            return made

    with NoSquare():
        run(generator, n_vocab=4096, n_heads=1)


def test_with_three_layers_it_takes_the_two_that_matter(generator):
    names = run(generator, leave_out=EDGES, n_layers=3, n_vocab=50)
    assert names["matcher"].layer == 2 and names["back"].layer in (0, 1)
    assert names["writer"].layer == names["back"].layer and names["reader"].layer == 2
    with pytest.raises(ValueError, match="this cuts edges between two layers, but the model has 3"):
        run(generator, n_layers=3, n_vocab=50)


def test_with_one_layer_it_says_that_it_needs_two(generator):
    with pytest.raises(ValueError, match="from here on, this page needs two layers"):
        run(generator, n_layers=1, n_vocab=50)
