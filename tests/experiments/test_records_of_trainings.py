"""The records that chapters read: of which runs, in which order, and of what there is no case."""

import pytest

from transformer_circuits import files
from transformer_circuits.experiments import trainings


def test_logs_of_a_run_are_those_of_its_seeds_and_every_log_has_further_ones_behind():
    first, every = trainings.logs("base"), trainings.every_log("base")
    assert [each.seed for each in trainings.of_run("base")] == [*trainings.SEEDS]
    assert every[:3] == first and len(every) == 8
    assert trainings.every_log("code alone") == trainings.logs("code alone")
    assert trainings.PLANTED in trainings.why()
    with pytest.raises(files.UserError, match=r'no run "freed": python -m tools trainings'):
        trainings.logs("freed")
