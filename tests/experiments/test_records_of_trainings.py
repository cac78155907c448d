"""The records that chapters read: of which runs, in which order, and of what there is no case."""

import pytest

from transformer_circuits import files
from transformer_circuits.experiments import trainings
from transformer_circuits.training import checkpoint


def test_logs_of_a_run_are_those_of_its_seeds_and_every_log_has_further_ones_behind():
    first, every = trainings.logs("base"), trainings.every_log("base")
    assert [each.seed for each in trainings.of_run("base")] == [*trainings.SEEDS]
    assert every[:3] == first and len(every) == 8
    assert trainings.every_log("code alone") == trainings.logs("code alone")
    assert trainings.PLANTED in trainings.why()
    with pytest.raises(files.UserError, match=r'no run "freed": python -m tools trainings'):
        trainings.logs("freed")


def test_the_book_s_own_models_are_among_those_that_read_most():
    *_, most = trainings.in_width_alone().values()
    width = checkpoint.settings("two-layer")[0].d_model
    assert {each.seed for each in most if each.width == width} == {0, 1, 2}
    assert not any(each.crowded or each.normed for each in most)
    assert all(each.normed for each in trainings.of_sizes(normed=True))


@pytest.mark.parametrize("basis", [trainings.STORED, trainings.WHITE])
def test_an_interval_is_of_a_rule_that_had_a_case(basis):
    for each in trainings.of_sizes():
        of_kinds = each.line["edges"]["agreement"]["white" if "white" in basis else "stored"]
        mean, low, high, _ = each.interval("score-is-not-use", basis)
        assert mean == pytest.approx(sum(of_kinds) / len(of_kinds), abs=1e-3), each.run
        assert low <= mean <= high
        assert each.interval("value-weighted", basis) is None, "mended since"
