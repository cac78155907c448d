"""Copying is what it says, and attention without competition is the model's where none competes."""

import torch

from transformer_circuits.analysis import heads
from transformer_circuits.analysis.one_layer import ensemble

ALIKE = torch.full((17,), 1 / 17, dtype=torch.float64)
FORMS = torch.tensor([[0, -1], [1, 2], [1, 2], *([i, -1] for i in range(3, 17))])


def test_copying_is_the_entries_of_the_words_themselves(model, tokens):
    pattern = model.trace(tokens).patterns[0]
    same = torch.zeros(17, 17)
    for token, row in enumerate(FORMS.tolist()):
        same[[form for form in row if form >= 0], token] = 1
    wanted = 0
    for head in heads.of_layer(model, 0):
        circuit = heads.full_ov(model, head).dense()
        entries = (circuit - circuit.mean(dim=0)) * same  # [out, src]
        wanted = wanted + pattern[:, head.head] @ entries.T[tokens]
    outs = (model.W_U - model.W_U.mean(dim=0)) @ model.layers[0].W_O
    assert torch.allclose(ensemble.copying(model, tokens, pattern, FORMS, outs), wanted)


def test_where_all_keys_are_alike_nothing_competes(model, tokens):
    model.layers[0].W_K_concat.zero_()
    pattern = ensemble.each_by_itself(model, tokens, ALIKE, model.layers[0].W_K @ model.W_E)
    assert torch.allclose(pattern, model.trace(tokens).patterns[0])


def test_attention_depends_on_no_other_source(model):
    tokens = torch.tensor([[0, 3, 5, 7, 9], [0, 3, 6, 8, 9]])
    keys = model.layers[0].W_K @ model.W_E
    pattern = ensemble.each_by_itself(model, tokens, ALIKE, keys)[:, :, 4]
    assert torch.allclose(pattern[0, :, [0, 1, 4]], pattern[1, :, [0, 1, 4]])
