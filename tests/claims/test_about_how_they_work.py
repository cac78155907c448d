import math

import pytest
import torch

from transformer_circuits.claims import about_how_they_work, controls, rules


def test_all_heads_that_match_are_in_the_corner_and_apart_from_the_others(monkeypatch, subject):
    nearness = torch.tensor([0.1, 0.5, 0.2, 0.9, 0.7])
    monkeypatch.setattr(
        about_how_they_work, "_spectra", lambda _: torch.stack([nearness, nearness + 0.1])
    )
    weakest, apart = about_how_they_work.weakest_spectrum, about_how_they_work.set_apart_in_corner
    for matching, lowest, gap in (
        ([0.1, 0.2, 0.0, 0.6, 0.5], 0.7, 0.2),
        ([0.1, 0.6, 0.0, 0.6, 0.3], 0.5, -0.2),
        ([0.1, 0.2, 0.0, 0.3, 0.1], 0.9, 0.2),  # none is an induction head: the best alone
        ([0.5] * 5, 0.1, math.nan),  # no others
    ):
        monkeypatch.setitem(vars(subject), "matching", torch.tensor(matching))
        assert float(weakest(subject)) == pytest.approx(lowest)
        assert float(apart(subject)) == pytest.approx(gap, nan_ok=True)


def test_copiers_are_those_that_copy_and_of_these_some_match(monkeypatch, subject):
    above = torch.tensor([[9.0, 9.0, 9.0, 0.0, 1.0], [9.0, 9.0, 1.0, 9.0, 1.0]])
    monkeypatch.setattr(about_how_they_work, "_above_random", lambda _: above)
    share = about_how_they_work.share_of_copiers_that_match
    assert share(subject)[:3].tolist() == [1, 1, 0] and share(subject)[3:].isnan().all()
    nothing = controls.heads_without_effect(subject)
    assert share.interval(nothing) == rules.NOTHING
    weakest = about_how_they_work.weakest_spectrum
    assert weakest.interval(nothing) == rules.NOTHING
    monkeypatch.setattr(about_how_they_work, "_above_random", lambda _: 0 * above)
    assert share(subject).isnan().all(), "no copier, no case"


def test_another_form_is_the_best_key_where_it_looks_the_same(monkeypatch, built):
    n_vocab = built.model.config.n_vocab
    texts = ["" if k == 0 else (" " if k % 2 else "") + "abcdefghij"[k % 10] * (1 + k // 20)
             for k in range(n_vocab)]  # fmt: skip
    texts[2:4] = ["moon", " moon"]
    monkeypatch.setattr(about_how_they_work.tokenizer, "texts", lambda: texts)
    own = about_how_they_work.other_form_as_key(built)
    assert own.min() == 0  # the built head knows a token as itself alone
    built.model.W_E[:, 3] = built.model.W_E[:, 2]
    same = about_how_they_work.other_form_as_key(built)
    built.model.W_E[:, 3] = torch.eye(n_vocab, built.model.config.d_model).double()[3]
    assert same.max() > 0.9
