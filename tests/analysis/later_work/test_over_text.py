import pytest
import torch

from transformer_circuits.analysis import repeats
from transformer_circuits.analysis.later_work import over_text
from transformer_circuits.model import hand_built

N_VOCAB = 23


@pytest.fixture
def looks():
    """Made-up looks: twenty places, ever stronger, of kinds in turn."""
    n = 20
    return over_text.Looks(
        window=torch.zeros(n).long(),
        dst=torch.arange(2, n + 2),
        src=torch.arange(1, n + 1),
        attention=torch.arange(n) / n,
        kind=torch.arange(n) % 3,
        said=torch.arange(n) % 2 == 0,
        common=torch.full((n,), 0.25),
        chance=torch.full((n, 3), 1 / 3),
        chance_gain=torch.full((n, 3), 0.1),
    )


def by_hand(model, inputs, targets, head, words):
    """Place by place, in plain loops: window, dst, src, kind, said, common, chance, chance_gain."""
    A = model.trace(inputs).patterns[head[0]][:, head[1]]
    rows = []
    for w, text in enumerate(inputs.tolist()):
        for dst in range(len(text)):
            sources = [s for s in range(dst + 1) if text[s] != 0]
            if text[dst] == 0 or len(sources) < 2:
                continue
            kinds, gains, commons = [], [], []
            for s in sources:
                before = text[s - 1] if s else 0
                if before == text[dst]:
                    kinds.append(0)
                elif words[before] == words[text[dst]]:
                    kinds.append(1)
                else:
                    kinds.append(2)
                same = sum(text[t] == text[s] for t in sources if t != s)
                commons.append(same / (len(sources) - 1))
                gains.append((text[s] == int(targets[w, dst])) - commons[-1])
            best = max(range(len(sources)), key=lambda i: float(A[w, dst, sources[i]]))
            src = sources[best]
            chance = [kinds.count(k) / len(kinds) for k in range(3)]
            random = [
                sum(g for g, kind in zip(gains, kinds, strict=True) if kind == k) / len(kinds)
                for k in range(3)
            ]
            rows.append((w, dst, src, kinds[best], text[src] == int(targets[w, dst]),
                         commons[best], chance, random))  # fmt: skip
    return rows


def test_looks_are_those_of_plain_loops(model, generator):
    text = torch.randint(7, (5, 12), generator=generator)  # few tokens, so that all kinds occur
    text[:, 0] = 0
    inputs, targets = text[:, :-1], text[:, 1:]
    words = torch.arange(model.config.n_vocab) // 2 * 2  # 0 and 1, 2 and 3, … are one word
    found = over_text.strongest(model, inputs, targets, (1, 2), words)
    rows = by_hand(model, inputs, targets, (1, 2), words.tolist())
    window, dst, src, kind, said, common, chance, random = map(list, zip(*rows, strict=True))
    assert found.window.tolist() == window and found.dst.tolist() == dst
    assert found.src.tolist() == src and found.kind.tolist() == kind
    assert found.said.tolist() == said
    assert set(kind) == {0, 1, 2}, "the text must hold all kinds, or the test says little"
    for ours, theirs in (
        (found.common, common), (found.chance, chance), (found.chance_gain, random)
    ):  # fmt: skip
        torch.testing.assert_close(ours, torch.tensor(theirs))


def test_an_induction_head_looks_at_exact_matches_and_they_come_next(generator):
    order = torch.rand(6, N_VOCAB - 1, generator=generator).argsort(dim=1)
    tokens = repeats.copies(order[:, :15] + 1)  # no token twice in a passage
    model = hand_built.induction(N_VOCAB, tokens.shape[1])
    words = torch.arange(N_VOCAB)
    found = over_text.strongest(model, tokens[:, :-1], tokens[:, 1:], (1, 0), words)
    second = found.dst > 15
    assert (found.kind[second] == 0).all() and found.said[second].all()
    assert found.surplus("exact").mean() > 0.2
    assert found.surplus("near").abs().max() == 0


def test_order_gives_the_surplus_and_shuffling_takes_it(generator):
    passages = repeats.drawn(torch.ones(N_VOCAB), 40, 15, generator=generator)
    tokens = repeats.copies(passages)
    order = torch.rand(tokens[:, 1:].shape, generator=generator).argsort(dim=1)
    tokens[:, 1:] = tokens[:, 1:].gather(1, order)
    model = hand_built.induction(N_VOCAB, tokens.shape[1])
    words = torch.arange(N_VOCAB)
    found = over_text.strongest(model, tokens[:, :-1], tokens[:, 1:], (1, 0), words)
    assert found.surplus("exact").mean().abs() < 0.03


def test_tenths_hold_equally_many_places_in_order(looks):
    assert looks.deciles().tolist() == [1 + k // 2 for k in range(20)]
    means = over_text.by_decile(looks.deciles(), looks.attention)
    torch.testing.assert_close(means, (torch.arange(10) * 2 + 0.5) / 20)


def test_samples_show_where_a_place_looks(looks, generator):
    text = torch.arange(300, 323)[None]
    rows = over_text.samples(looks, text[:, :-1], text[:, 1:], each=1, width=2, generator=generator)
    assert [row["tenth"] for row in rows] == [*range(10, 0, -1)]
    for row in rows:
        assert row["match"] in over_text.KINDS and row["looks at"].endswith("⟧")
    ticks = sum(str(row["what comes next"]).endswith("✓") for row in rows)
    assert 0 < ticks < 10
