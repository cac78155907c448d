import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from transformer_circuits.analysis.since_2021 import suppression
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer


def test_effects_are_those_of_plain_loops(model, generator):
    inputs = torch.randint(model.config.n_vocab, (3, 9), generator=generator)
    inputs[:, 0] = 0
    of = [(0, 1), (1, 4)]
    found = suppression.effects(model, inputs, of)
    trace = model.trace(inputs)
    for k, (layer, head) in enumerate(of):
        added = F.linear(trace.head_outputs[layer][:, head], model.W_U)
        for row, text in enumerate(inputs.tolist()):
            for pos in range(1, 9):
                if text[pos] == 0:
                    assert found.effect[k, row, pos].isnan()
                    continue
                here = added[row, pos]
                predicted = int((trace.logits[row, pos] - here).argmax())
                context = [token for token in text[: pos + 1] if token != 0]
                expected = here[predicted] - here[context].mean()
                torch.testing.assert_close(found.effect[k, row, pos], expected)
                assert bool(found.repeats[k, row, pos]) == (predicted in context)
    assert 0 < found.repeats.double().mean() < 1


def built(sign):
    """A model that predicts the present token, with a head that looks there and adds `sign` to it."""
    config = ModelConfig(
        n_layers=1, n_heads=1, d_model=18, d_head=18, n_vocab=17, n_ctx=11, position_base=100.0
    )
    model = Transformer(config).requires_grad_(False)
    for weight in model.parameters():
        weight.zero_()
    model.W_E[:17] = torch.eye(17)
    model.W_U[:, :17] = 5 * torch.eye(17)
    model.layers[0].W_V[0] = torch.eye(18)
    model.layers[0].W_O[0] = 0.5 * sign * torch.eye(18)
    model.layers[0].W_Q[0], model.layers[0].W_K[0] = 9 * torch.eye(18), 9 * torch.eye(18)
    model.W_P.zero_()
    return model


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_head_that_lowers_repeats_is_told_from_one_that_raises_them(sign):
    inputs = torch.tensor([[0, 5, 6, 7, 8, 9]])
    found = suppression.effects(built(sign), inputs, [(0, 0)])
    assert found.repeats[0, 0, 1:].all()
    assert sign * float(found.of_repeats()[0]) > 1


def test_what_happens_without_a_repeat_is_taken_off():
    effect = torch.tensor([[[torch.nan, 1.0, 3.0, 6.0]], [[torch.nan, 1.0, 3.0, 6.0]]])
    repeats = torch.tensor([[[False, True, True, False]], [[False, True, True, True]]])
    found = suppression.Effects(effect, repeats).of_repeats()
    assert found.tolist() == [pytest.approx(-4), pytest.approx(10 / 3)]


def test_what_cannot_be_is_refused(model, tokens):
    with pytest.raises(ValueError, match="no head is given but at least one is needed"):
        suppression.effects(model, tokens, [])
    with pytest.raises(ValueError, match=r"head 2\.0 asked for but the model has 2 layers"):
        suppression.effects(model, tokens, [(2, 0)])
