import pytest
import torch
from conftest import SHAPE

from transformer_circuits.analysis import repeats
from transformer_circuits.model import hand_built
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def random(seed=0):
    return torch.Generator().manual_seed(seed)


def test_a_hand_built_induction_head_knows_the_second_copy_alone():
    model = hand_built.induction(n_vocab=11, n_ctx=21).float()
    passages = torch.stack([1 + torch.randperm(10, generator=random(i))[:8] for i in range(20)])
    found = repeats.predictions(model, passages)
    assert found.right_first()[1] == 1
    assert found.right_first()[0] < 0.5
    assert found.median_rank()[1] == 1 < found.median_rank()[0]
    assert found.mean_loss()[1] < found.mean_loss()[0]
    assert found.mean_preferred()[1] == 1 > found.mean_preferred()[0]


def test_predictions_are_those_of_the_plain_forward_pass(model):
    passages = repeats.drawn(torch.ones(SHAPE.n_vocab), 3, 5, generator=random())
    model = model.float()
    found = repeats.predictions(model, passages)
    tokens = repeats.copies(passages)
    logits = model(tokens[:, :-1])
    assert found.loss.shape == found.rank.shape == (3, 2, 4)
    for copy in (0, 1):
        for pos in range(4):
            at = copy * 5 + 1 + pos  # the destination whose next token is counted
            right = tokens[:, at + 1]
            row = logits[:, at]
            expected = -row.log_softmax(-1).gather(1, right[:, None])[:, 0]
            torch.testing.assert_close(found.loss[:, copy, pos], expected)
            place = (row.argsort(descending=True) == right[:, None]).int().argmax(1) + 1
            assert torch.equal(found.rank[:, copy, pos], place)


def test_only_the_other_tokens_of_the_passage_compete():
    """A model whose logits are the same everywhere: the larger the token, the higher."""
    model = Transformer(ModelConfig(**(vars(SHAPE) | {"n_layers": 0}))).requires_grad_(False)
    model.W_E[:] = 1
    model.W_U[:] = torch.arange(17.0)[:, None]
    found = repeats.predictions(model, torch.tensor([[4, 9, 9, 5]]))
    assert found.preferred[0, 0].tolist() == [1, 1, pytest.approx(1 / 3)]
    assert torch.equal(found.preferred[0, 0], found.preferred[0, 1])
    assert found.rank[0, 0].tolist() == [8, 8, 12]


@pytest.mark.parametrize("rounding", [-1e-6, 0.0, 1e-6])
def test_what_the_order_of_a_sum_decides_decides_no_rank(rounding):
    """Two tokens are as likely as each other, up to what float32 leaves of a sum."""
    logits = torch.zeros(17)
    logits[4], logits[9] = 3.0, 3.0 + rounding
    found = repeats.predictions(lambda t: logits.expand(*t.shape, -1), torch.tensor([[2, 4, 9]]))
    assert found.rank[0, 1].tolist() == [2, 2]
    assert found.preferred[0, 1].tolist() == [0.75, 0.75], "one token lower, one as likely"


def test_tokens_are_drawn_by_weight_and_never_begin():
    weights = torch.tensor([9.0, 1.0, 0.0, 3.0])
    drawn = repeats.drawn(weights, 100, 40, generator=random())
    share = torch.bincount(drawn.flatten(), minlength=4) / drawn.numel()
    assert share[0] == share[2] == 0
    assert share[3] == pytest.approx(0.75, abs=0.03)


def test_passages_are_evenly_spaced_from_the_first_to_the_last():
    found = repeats.passages(torch.arange(10), 3, 4)
    assert found.tolist() == [[0, 1, 2, 3], [3, 4, 5, 6], [6, 7, 8, 9]]
    long = torch.zeros(2**25 + 7, dtype=torch.int8)  # float32 has not every place of it
    long[-4:] = 1
    assert repeats.passages(long, 3, 4).tolist() == [[0] * 4, [0] * 4, [1] * 4]


def test_quartiles_part_the_vocabulary_from_the_most_frequent_to_the_rarest():
    of = repeats.counts(torch.tensor([3, 3, 3, 1, 1, 0, 2, 2, 2, 2]), 8)
    quarters = [repeats.quartile(of, which) for which in range(4)]
    assert quarters[0].nonzero().flatten().tolist() == [2, 3]
    assert torch.equal(sum(quarters), torch.ones(8))


def test_targets_are_the_next_tokens_within_one_copy_but_for_its_first():
    tokens = torch.tensor([[0, 4, 5, 6, 4, 5, 6]])
    first, second = (repeats.targets_of_copy(tokens, 3, copy).tolist() for copy in (0, 1))
    assert first == [[-100, 5, 6, -100, -100, -100, -100]]
    assert second == [[-100, -100, -100, -100, 5, 6, -100]]
