import dataclasses

import torch

from transformer_circuits.claims import about_heads_over_text, rules
from transformer_circuits.text import tokenizer


def test_the_built_head_does_on_text_what_it_does_in_the_test_and_for_rare_tokens_too(built):
    found = rules.interval(about_heads_over_text.narrower_than_the_test(built))
    assert found.low == found.high == 0
    found = rules.interval(about_heads_over_text.frequent_over_rare(built))
    assert abs(found.mean) < 0.05


def test_a_head_that_takes_two_tokens_for_one_gains_from_near_matches(built, monkeypatch):
    """The built head knows a token as itself alone; with one vector for two, it matches both."""
    n_vocab = built.model.config.n_vocab
    texts = [""] + [("" if k % 2 else " ") + chr(97 + (k - 1) // 2 % 26) * (1 + (k - 1) // 52)
                    for k in range(1, n_vocab)]  # fmt: skip
    monkeypatch.setattr(tokenizer, "texts", lambda: texts)
    text = built.text.clone()
    length = (built.model.config.n_ctx - 1) // 2
    place = torch.arange(len(text)) % built.model.config.n_ctx
    second = (place > length) & (place % 2 == 0)  # every other token, so that the same comes next
    other = ((text - 1) ^ 1) + 1  # the other form of each word
    swapped = text.where(~second | (text == tokenizer.BEGIN) | (other >= n_vocab), other)
    plain = dataclasses.replace(built, name="plain", text=swapped)
    alone = rules.interval(about_heads_over_text.near_matches(plain))
    odd = torch.arange(1, n_vocab - 1, 2)
    read = plain.model.layers[1].W_Q.clone()
    plain.model.layers[1].W_Q[0][:, odd] += read[0][:, odd + 1]
    plain.model.layers[1].W_Q[0][:, odd + 1] += read[0][:, odd]
    both = rules.interval(
        about_heads_over_text.near_matches(dataclasses.replace(plain, name="both"))
    )
    plain.model.layers[1].W_Q.copy_(read)
    assert both.low > 0.1 and not alone.mean > 0.02
