import torch

from transformer_circuits.analysis.later_work import edge_sets


def test_what_is_patched_in(model, tokens):
    trace = model.trace(tokens)
    written = trace.head_outputs[0][:, 2]
    assert edge_sets.replacement(trace, (0, 2), "zero").abs().max() == 0
    mean = edge_sets.replacement(trace, (0, 2), "mean")
    torch.testing.assert_close(mean[1, 3], written.mean(dim=(0, 1)))
    torch.testing.assert_close(edge_sets.replacement(trace, (0, 2), "resampled")[1], written[0])


def test_an_interaction_is_what_the_sum_misses(model, tokens):
    trace, targets = model.trace(tokens), tokens.roll(-1, dims=1)
    one, other = ("K", (1, 3), (0, 1)), ("Q", (1, 3), (0, 4))
    found = edge_sets.interaction(model, trace, targets, one, other)
    alone = [edge_sets.rise(model, trace, targets, [edge]) for edge in (one, other)]
    both = edge_sets.rise(model, trace, targets, [one, other])
    torch.testing.assert_close(found + sum(alone), both)
    assert edge_sets.rise(model, trace, targets, []).abs().max() == 0


def test_the_noise_floor_passes_effects_and_stops_noise(generator):
    noise = torch.randn(40, 5, 5, generator=generator)
    floor = edge_sets.noise_floor(noise, generator=generator)
    assert 2 / 40**0.5 < floor < 4 / 40**0.5
    assert (noise.mean(dim=0).abs() > floor).sum() <= 1
    noise[:, 2, 3] += 1.5
    floor = edge_sets.noise_floor(noise, generator=generator)
    assert (noise.mean(dim=0).abs() > floor).nonzero().tolist() == [[2, 3]]
