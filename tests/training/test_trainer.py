import copy
import dataclasses
from unittest import mock

import pytest
import torch
from conftest import PLAN, SHAPE

from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training import hardware, recipe
from transformer_circuits.training.trainer import Trainer

STREAM = torch.arange(400) ** 2 % SHAPE.n_vocab
WHOLE = dataclasses.replace(
    PLAN, decay_unembed=0.3, decay_attention=0.1, rms_embed=0.3, blind_steps=2
)
"""With everything that the recipe of the book's models has."""


def trainer(folder=None, plan=PLAN, bfloat16=False, **options):
    model = Transformer(SHAPE, generator=torch.Generator().manual_seed(plan.seed))
    options = {"every": 2, "compile": False} | options
    with mock.patch.object(hardware, "has_bfloat16", lambda device: bfloat16):
        return Trainer(model, plan, STREAM, folder, **options)


def weights(run):
    return torch.cat([weight.detach().flatten() for weight in run.model.parameters()])


def test_the_loss_falls_and_two_runs_are_bitwise_equal():
    plan = dataclasses.replace(PLAN, steps=30)
    one, two = trainer(plan=plan, probe=lambda model: {"step_before": one.step}), trainer(plan=plan)
    log = list(one.run())
    assert [record["step_before"] for record in log] == [record["step"] for record in log]
    list(two.run())
    assert log[-1]["loss_nats"] < log[0]["loss_nats"] - 0.5
    assert torch.equal(weights(one), weights(two))


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(tmp_path):
    whole = trainer(plan=WHOLE)
    list(whole.run())
    stopped = trainer(tmp_path, WHOLE)
    for record in stopped.run():
        if record["step"] == 4:
            break
    resumed = trainer(tmp_path, WHOLE)
    assert resumed.step == 4
    list(resumed.run())
    assert torch.equal(weights(resumed), weights(whole))
    assert [r["step"] for r in resumed.log] == [2, 4, 6]


def test_a_state_of_another_run_or_a_damaged_one_is_not_overwritten(tmp_path):
    list(trainer(tmp_path).run())
    before = (tmp_path / "state.pt").read_bytes()
    with pytest.raises(ValueError, match=r"belongs to the run .* move it away"):
        trainer(tmp_path, dataclasses.replace(PLAN, seed=4))
    assert (tmp_path / "state.pt").read_bytes() == before
    (tmp_path / "state.pt").write_bytes(before[:-100])
    with pytest.raises(ValueError, match=r"state\.pt is damaged: .*move it away to start afresh"):
        trainer(tmp_path)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_state(tmp_path):
    run = trainer(tmp_path)
    steps = run.run()
    next(steps)
    before = (tmp_path / "state.pt").read_bytes()
    run.model.W_E.data[:] = float("nan")
    with pytest.raises(FloatingPointError, match="nan at step 4; the state of step 2"):
        next(steps)
    assert (tmp_path / "state.pt").read_bytes() == before
    model = Transformer(dataclasses.replace(SHAPE, n_vocab=5))
    with pytest.raises(ValueError, match="token 16 but n_vocab is 5"):
        Trainer(model, PLAN, STREAM, compile=False)


def test_the_schedule_warms_up_holds_and_falls_to_nothing():
    plan = dataclasses.replace(PLAN, steps=100, warmup_steps=10, decay_from=0.5)
    values = [recipe.schedule(step, plan) for step in range(100)]
    assert values[0] == pytest.approx(0.1)
    assert values[10:50] == [1.0] * 40
    assert values[75] == pytest.approx(0.5) and values[99] == pytest.approx(0.02)


def test_mixed_precision_is_near_and_leaves_a_model_that_computes_in_float32():
    whole, mixed = trainer(), trainer(bfloat16=True)
    for run in (whole, mixed):
        list(run.run())
    assert 0 < (weights(whole) - weights(mixed)).abs().max() < 0.1
    fresh = Transformer(SHAPE)
    fresh.load_state_dict(mixed.model.state_dict())
    tokens = torch.arange(SHAPE.n_ctx)[None]
    assert torch.equal(mixed.model(tokens), fresh(tokens))


def test_a_layer_after_the_first_is_blind_then_sees_positions_more_and_more():
    plan = dataclasses.replace(PLAN, blind_steps=100)
    seen = [recipe.positions(step, plan, 3).tolist() for step in (0, 99, 100, 125, 150, 900)]
    assert seen == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0.5, 0.5], [1, 1, 1], [1, 1, 1]]
    assert recipe.positions(0, PLAN, 2).tolist() == [1, 1]
    losses = []
    for each in (PLAN, plan):
        run = trainer(plan=each, every=1)
        run.model.randomise(generator=torch.Generator().manual_seed(0))
        losses.append(next(run.run())["loss_nats"])
    assert abs(losses[0] - losses[1]) > 1e-3, "the first step is made with what is seen"


def test_embeddings_keep_their_scale_and_the_mean_is_out_of_the_unembedding(generator):
    """After every step; and without that mean no prediction is another."""
    run = trainer(plan=dataclasses.replace(PLAN, rms_embed=0.3))
    list(run.run())
    rms = run.model.W_E.square().mean(dim=0).sqrt()
    torch.testing.assert_close(rms, torch.full_like(rms, 0.3))
    assert run.model.W_U.mean(dim=0).abs().max() < 1e-7 < run.model.W_U.abs().max()
    before = Transformer(SHAPE).double().requires_grad_(False)
    before.randomise(generator=generator)
    after = copy.deepcopy(before)
    recipe.normalise(after, 0.0)
    tokens = torch.arange(SHAPE.n_ctx)[None]
    assert after.W_U.mean(dim=0).abs().max() < 1e-15 < before.W_U.mean(dim=0).abs().max()
    torch.testing.assert_close(after(tokens).log_softmax(-1), before(tokens).log_softmax(-1))


def test_each_weight_decays_as_the_plan_says_and_embeddings_never():
    """Without a gradient, a step of the optimizers is the decay alone."""
    model = Transformer(dataclasses.replace(SHAPE, d_mlp=7))
    model.randomise(generator=torch.Generator().manual_seed(0))
    before = {name: weight.detach().clone() for name, weight in model.named_parameters()}
    plan = dataclasses.replace(PLAN, decay_unembed=0.5, decay_attention=0.25)
    for weight in model.parameters():
        weight.grad = torch.zeros_like(weight)
    for optimizer in recipe.optimizers(model, plan):
        optimizer.step()
    left = {"W_E": 1.0, "W_U": 1 - PLAN.lr_embed * 0.5}
    for name, weight in model.named_parameters():
        expected = before[name] * left.get(name, 1 - PLAN.lr_attention * 0.25)
        torch.testing.assert_close(weight.detach(), expected, msg=name)


def test_a_weight_on_repeats_is_trained_with_and_its_state_is_of_no_other_run(tmp_path):
    """The stream repeats itself, so that some targets complete a repeat and others do not."""
    plain, heavy = trainer(), trainer(tmp_path, repeat_weight=3.0)
    list(plain.run())
    list(heavy.run())
    assert not torch.equal(weights(plain), weights(heavy))
    again = trainer(tmp_path, repeat_weight=3.0)
    assert torch.equal(weights(again), weights(heavy))
    for other in ({}, {"repeat_weight": 0.0}, {"repeat_weight": 3.0, "differs": "other layer"}):
        with pytest.raises(ValueError, match="belongs to the run"):
            trainer(tmp_path, **other)
