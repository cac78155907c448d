import torch

from transformer_circuits.analysis import path_patching


def test_the_costliest_edges_come_first():
    increases = torch.zeros(3, 4, 5)
    increases[1, 3, 2], increases[0, 0, 4] = 2.0, 3.0
    found = path_patching.top_edges(increases, 2)
    assert found == [("Q", (1, 0), (0, 4), 3.0), ("K", (1, 3), (0, 2), 2.0)]
    assert len(path_patching.top_edges(increases, 100)) == 60
