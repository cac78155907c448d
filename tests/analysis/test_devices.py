"""Analyses of a model on a GPU, which is pretended: numbers stay where they are, but a tensor said to
be on the GPU refuses to meet one on the processor, as it would on a real one."""

import copy

import numpy as np
import pytest
import torch
from calls import CALLS, MORE, beside, n_layers, name, outcome, random
from conftest import SHAPE
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from transformer_circuits.analysis import (
    ablation,
    bigrams,
    copying_scores,
    heads,
    induction,
    superposition,
)
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.experiments import development
from transformer_circuits.figures import charts
from transformer_circuits.model import cross_entropy, quantisation
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.website.live import weights

GPU = torch.device("cuda", 0)


class OnGPU(torch.Tensor):
    """A tensor said to be on the GPU."""

    __torch_function__ = torch._C._disabled_torch_function_impl


def on_gpu(tensor):
    return tensor.detach().as_subclass(OnGPU)


def moved(tree, where):
    """Every tensor of nested lists, at its new place."""
    kind = OnGPU if torch.device(where).type == "cuda" else torch.Tensor
    return pytree.tree_map_only(
        torch.Tensor, lambda x: x if type(x) is kind else x.as_subclass(kind), tree
    )


class PretendedGPU(TorchFunctionMode):
    """PyTorch's rules for tensors on two devices, for the operations that occur here."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        gpu = [x for x in tensors if isinstance(x, OnGPU)]
        if name == "__get__" and func == torch.Tensor.device.__get__:
            return GPU if gpu else func(*args)
        if name == "__deepcopy__" and gpu:
            return on_gpu(args[0].clone())
        if name == "cpu":
            return moved(func(*args, **kwargs), "cpu")
        if name == "to":
            return self.to(func, args, kwargs)
        where = kwargs.get("device")
        if where is not None:
            kwargs["device"] = "cpu"
            where = torch.device(where).type
        if where == "cuda" or (gpu and where is None):
            if gpu and name in ("numpy", "__array__"):
                raise TypeError("can't convert a tensor on the GPU to numpy")
            if kwargs.get("generator") is not None:
                raise RuntimeError(f"{name}: a generator of the processor for a tensor on the GPU")
            self.check(name, args, tensors)
            return moved(func(*args, **kwargs), "cuda")
        return func(*args, **kwargs)

    def to(self, func, args, kwargs):
        """To a device or to another tensor's; else it stays where it is."""
        places = [x for x in (*args[1:], *kwargs.values()) if not isinstance(x, bool)]
        where = GPU if isinstance(args[0], OnGPU) else torch.device("cpu")
        plain = []
        for place in places:
            if isinstance(place, torch.Tensor):
                where = GPU if isinstance(place, OnGPU) else torch.device("cpu")
                plain.append(place.dtype)
            elif isinstance(place, str | torch.device):
                where = torch.device(place)
            else:
                plain.append(place)
        return moved(func(args[0], *plain) if plain else args[0], where)

    @staticmethod
    def check(name, args, tensors):
        """Raise where a real GPU would: all on one device, but for what has no dimensions."""
        away = [x for x in tensors if not isinstance(x, OnGPU)]
        if name == "copy_":
            return
        if name in ("__getitem__", "__setitem__") and isinstance(args[0], OnGPU):
            away = [x for x in args[2:] if any(x is y for y in away)]  # indices may be anywhere
        in_place = name.endswith("_") and tensors and not isinstance(tensors[0], OnGPU)
        indexed = name in ("__getitem__", "__setitem__")
        if (in_place and not indexed) or name in ("cat", "stack"):
            bad = away
        elif indexed and not isinstance(args[0], OnGPU):
            bad = [
                x for x in tensors[1:] if x.dim() and isinstance(x, OnGPU) and name != "__setitem__"
            ]
        else:
            bad = [x for x in away if x.dim()]
        if bad:
            raise RuntimeError(f"{name}: expected all tensors to be on the same device")


@pytest.fixture
def model(monkeypatch):
    """Two layers with random weights, moved to the pretended GPU, which is there during the test."""
    move = torch.nn.Module.to
    monkeypatch.setattr(torch.nn.Module, "to", lambda module, *to: on_the_gpu(move(module, *to)))
    one = Transformer(SHAPE).requires_grad_(False)
    one.randomise(generator=torch.Generator().manual_seed(7))
    with PretendedGPU():
        yield one.to("cpu")


def on_the_gpu(module):
    for part in module.modules():
        for tensors in (part._parameters, part._buffers):
            tensors.update({name: on_gpu(tensor) for name, tensor in tensors.items()})
    return module


STREAM = torch.arange(400) ** 2 % SHAPE.n_vocab
TABLE = bigrams.counts(STREAM, SHAPE.n_vocab)
ON_PROCESSOR = ("later_work", "one_layer.ensemble", "one_layer.skip_trigram_places")
"""What chapters run on the processor alone."""
FACTORS = skip_trigrams.factors


def on_processor(function):
    return any(part in function.__module__ for part in ON_PROCESSOR)


def one_layer(model):
    smaller = copy.deepcopy(model)
    smaller.layers = smaller.layers[:1]
    smaller.config = type(SHAPE)(**(vars(SHAPE) | {"n_layers": 1}))
    return smaller


HERE = {
    "evaluate": lambda m, x: cross_entropy.evaluate(m, STREAM, 4),
    "loss_nats": lambda m, x: cross_entropy.loss_nats(m, x.IN, x.IN),
    "probe": lambda m, x: development.probe(longer(m), STREAM.repeat(4), 2),
    "uniform_matching": lambda m, x: induction.uniform_matching(x.IN),
    "copying": lambda m, x: copying_scores.copying(
        heads.full_ov(m, (0, 1)), 5, 3, generator=random()
    ),
    "own_ranks": lambda m, x: copying_scores.own_ranks(heads.full_ov(m, (0, 1)), 5),
    "eigenvalues": lambda m, x: charts.eigenvalues(
        {"0.1": heads.full_ov(m, (0, 1)).eigenvalues()}, title="Eigenvalues", alt="Eigenvalues."
    ),
    "svd": lambda m, x: heads.full_qk(m, (0, 1)).svd(),
    "frozen mean": lambda m, x: ablation.loss_increase(m, x.IN, x.IN, "mean", frozen=True),
    "skip_trigrams": lambda m, x: (
        top := skip_trigrams.top(FACTORS(m, (0, 1)), 3, TABLE.sum(dim=0)),
        skip_trigrams.rank(FACTORS(m, (0, 1)), top[0]),
        skip_trigrams.strongest_sources(FACTORS(m, (0, 1)), 3, TABLE.sum(dim=0)),
        skip_trigrams.strongest_of_source(FACTORS(m, (0, 1)), 4, 3, TABLE.sum(dim=0)),
    ),
    "weights.dumps": lambda m, x: weights.dumps(m),
    "quantisation.rounded": lambda m, x: quantisation.rounded(m)(x.IN),
    "kl": lambda m, x: bigrams.kl(m.W_U @ m.W_E, TABLE),
    "correlation": lambda m, x: bigrams.correlation(m.W_U @ m.W_E, TABLE, 2),
    "recovered": lambda m, x: superposition.recovered(m.W_E, m.W_E[0]),
}


def longer(model):
    """With room for the copies that `development.probe` is about."""
    shape = type(SHAPE)(**(vars(SHAPE) | {"n_ctx": 512}))
    return Transformer(shape, generator=random()).requires_grad_(False).to("cpu")


@pytest.mark.parametrize(
    "case",
    [*(f for f in CALLS if not on_processor(f)), *MORE, *HERE],
    ids=lambda case: case if case in HERE else name(case),
)
def test_works_with_a_model_on_a_gpu(model, case):
    if case in HERE:
        HERE[case](model, beside(model))
        return
    one = model if n_layers(case) == 2 else one_layer(model)
    outcome(case, one, one.trace(beside(one).IN))


def test_the_pretended_gpu_refuses_what_a_real_one_does(model):
    with pytest.raises(RuntimeError, match="same device"):
        model(STREAM[:7][None])
    with pytest.raises(RuntimeError, match="same device"):
        model.W_E + torch.ones(SHAPE.n_vocab)
    with pytest.raises(RuntimeError, match="same device"):
        STREAM[beside(model).IN]
    with pytest.raises(RuntimeError, match="generator"):
        torch.randn(3, generator=random(), device=GPU)
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(model.W_E)
    assert model(beside(model).IN).device == GPU
    assert model(beside(model).IN).cpu().device.type == "cpu"
