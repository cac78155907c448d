"""The most memory that a process held."""

import torch

from transformer_circuits.experiments import memory


def test_a_process_alone_does_not_take_over_what_others_held():
    assert memory.alone(memory.most) < memory.most() / 2  # this one has torch in it


def test_the_peak_stays_after_the_memory_is_given_back():
    before = memory.most()
    n_bytes = 4 * torch.ones(round(before * 2**18) + 25 * 2**20).numel()  # 100 MB beyond the peak
    assert memory.most() - before > 90 and n_bytes / 2**20 > before
