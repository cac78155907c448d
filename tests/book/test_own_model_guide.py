"""The guide *Is my induction head real?*: what it trains is told apart at other seeds than its own, too."""

import nbformat
import pytest
import torch

from transformer_circuits.analysis import by_length
from transformer_circuits.book import notebooks
from transformer_circuits.claims import card
from transformer_circuits.interop import own_model

ONE, MANY = torch.tensor([24]), torch.arange(4, 25)


@pytest.fixture(scope="module")
def train():
    """The page's own model and training."""
    cells = nbformat.read(notebooks.path("your-own-model"), as_version=4).cells
    names = {}
    for cell in cells:
        if cell.id in ("own-03", "own-04"):
            exec(compile(cell.source, cell.id, "exec"), names)
    return names["train"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_trained_shortcut_is_told_from_trained_induction(train, seed):
    said = {}
    for name, lengths in (("one", ONE), ("many", MANY)):
        model, losses = train(lengths, seed)
        assert len(losses) < 3000, "it did not learn its own data"
        loaded = own_model.load(model.state_dict(), {"n_heads": 2})
        said[name] = card.does_induction(loaded, by_length.measured(loaded))
    assert said["many"].startswith("induction heads: 1."), said
    assert said["one"].startswith("no head does induction; "), said
    assert "24 alone and looks 23 back whatever stands there" in said["one"], said
