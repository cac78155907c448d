"""Analyses of a model on a GPU, which is pretended: numbers stay where they are, but a tensor said to
be on the GPU refuses to meet one on the processor, as it would on a real one."""

import copy

import numpy as np
import pytest
import torch
from conftest import SHAPE
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from transformer_circuits.analysis import (
    ablation,
    bigrams,
    composition,
    copying_scores,
    edge_effects,
    expansion,
    heads,
    induction,
    layer_norm,
    path_patching,
    patterns,
    repeats,
    superposition,
    term_importance,
)
from transformer_circuits.analysis.one_layer import skip_trigram_bugs, skip_trigrams
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


def one_layer(model):
    smaller = copy.deepcopy(model)
    smaller.layers = smaller.layers[:1]
    smaller.config = type(SHAPE)(**(vars(SHAPE) | {"n_layers": 1}))
    return smaller


STREAM = torch.arange(400) ** 2 % SHAPE.n_vocab
TOKENS = STREAM[:28].reshape(4, 7)
TABLE = bigrams.counts(STREAM, SHAPE.n_vocab)
PASSAGES = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])


def random():
    return torch.Generator().manual_seed(0)


def here():
    return TOKENS.to(GPU)


def normed(model):
    return layer_norm.NormedTransformer(SHAPE, generator=random()).to("cpu")


def factors(model):
    return skip_trigrams.factors(model, (0, 1))


def common():
    return TABLE.sum(dim=0) / TABLE.sum()


ANALYSES = {
    "evaluate": lambda m: cross_entropy.evaluate(m, STREAM, 4),
    "loss_nats": lambda m: cross_entropy.loss_nats(m, here(), here()),
    "probe": lambda m: development.probe(longer(m), STREAM.repeat(4), 2),
    "repeats.predictions": lambda m: vars(repeats.predictions(m, PASSAGES)),
    "in_context_learning_score": lambda m: induction.in_context_learning_score(
        m, STREAM, 9, (8, 10), (2, 4)
    ),
    "prefix_matching_score": lambda m: induction.prefix_matching_score(
        m.trace(here()).patterns[0], here()
    ),
    "uniform_matching": lambda m: induction.uniform_matching(here()),
    "copying": lambda m: copying_scores.copying(heads.full_ov(m, (0, 1)), 5, 3, generator=random()),
    "positivity": lambda m: copying_scores.positivity(heads.full_ov(m, (0, 1)).eigenvalues()),
    "copying_scores.null": lambda m: copying_scores.null(m.W_U, m.W_E, 3, 4, generator=random()),
    "own_ranks": lambda m: copying_scores.own_ranks(heads.full_ov(m, (0, 1)), 5),
    "deletion": lambda m: copying_scores.deletion(m.W_U, *m.trace(here()).residual[:2]),
    "eigenvalues": lambda m: charts.eigenvalues(
        {"0.1": heads.full_ov(m, (0, 1)).eigenvalues()}, title="Eigenvalues", alt="Eigenvalues."
    ),
    "svd": lambda m: heads.full_qk(m, (0, 1)).svd(),
    "singular_values": lambda m: heads.full_qk(m, (0, 1)).singular_values(),
    "without": lambda m: ablation.without(m, [(0, 1)])(here()),
    "ablation.loss_increase": lambda m: ablation.loss_increase(m, here(), here()),
    "ablation.loss_increase, mean": lambda m: ablation.loss_increase(
        m, here(), here(), "mean", frozen=True
    ),
    "loss_increase_by_copy": lambda m: repeats.loss_increase_by_copy(m, [PASSAGES]),
    "losses_at": lambda m: ablation.losses_at(m, STREAM, torch.tensor([20, 40, 60])),
    "path_patching.loss_increase": lambda m: path_patching.loss_increase(m, here(), here()),
    "edge_effects.effects": lambda m: edge_effects.effects(m, here(), here(), torch.arange(3)),
    "split": lambda m: skip_trigram_bugs.split(one_layer(m), here()),
    "veto": lambda m: skip_trigram_bugs.veto(
        one_layer(m), STREAM, skip_trigram_bugs.never_seen(TABLE, 0.5), 3
    ),
    "gated": lambda m: skip_trigram_bugs.gated(m)(here()),
    "with_more_heads": lambda m: skip_trigram_bugs.with_more_heads(m, 2, generator=random())(
        here()
    ),
    "skip_trigrams.top": lambda m: skip_trigrams.top(factors(m), 3, common()),
    "strongest_sources": lambda m: skip_trigrams.strongest_sources(factors(m), 3, common()),
    "strongest_of_source": lambda m: skip_trigrams.strongest_of_source(factors(m), 4, 3, common()),
    "rank": lambda m: skip_trigrams.rank(factors(m), skip_trigrams.top(factors(m), 1)[0]),
    "weights.dumps": weights.dumps,
    "quantisation.rounded": lambda m: quantisation.rounded(m)(here()),
    "kl": lambda m: bigrams.kl(m.W_U @ m.W_E, TABLE),
    "correlation": lambda m: bigrams.correlation(m.W_U @ m.W_E, TABLE, 2),
    "composition.scores": lambda m: composition.scores(m, "K"),
    "matching": lambda m: composition.matching(m, (1, 2), (0, 3)).eigenvalues(),
    "change_basis": lambda m: composition.change_basis(m, 2 * torch.eye(SHAPE.d_model).to(GPU))(
        here()
    ),
    "paths": lambda m: expansion.paths(m, here()),
    "score_terms": lambda m: expansion.score_terms(m, here(), (1, 2)),
    "streams": lambda m: term_importance.streams(m, here(), frozen=False),
    "patterns_of_embeddings": lambda m: term_importance.patterns_of_embeddings(m, here()),
    "losses": lambda m: term_importance.losses(m, here(), here()),
    "losses_by_steps": lambda m: term_importance.losses_by_steps(m, here(), here()),
    "fold": lambda m: paths_of_folded(layer_norm.fold(normed(m)), here()),
    "by_distance": lambda m: patterns.by_distance(m.trace(here()).patterns[0], 2),
    "value_weighted": lambda m: patterns.value_weighted(m, m.trace(here()), 0),
    "rotated_kurtosis": lambda m: superposition.rotated_kurtosis(
        m.trace(here()).residual[1], 2, generator=random()
    ),
    "recovered": lambda m: superposition.recovered(m.W_E, m.W_E[0]),
}


def longer(model):
    """With room for the copies that `development.probe` is about."""
    shape = type(SHAPE)(**(vars(SHAPE) | {"n_ctx": 512}))
    return Transformer(shape, generator=random()).requires_grad_(False).to("cpu")


def paths_of_folded(folded, tokens):
    return folded.paths(tokens, folded.run(tokens))


@pytest.mark.parametrize("name", ANALYSES)
def test_works_with_a_model_on_a_gpu(model, name):
    ANALYSES[name](model)


def test_the_pretended_gpu_refuses_what_a_real_one_does(model):
    with pytest.raises(RuntimeError, match="same device"):
        model(TOKENS)
    with pytest.raises(RuntimeError, match="same device"):
        model.W_E + torch.ones(SHAPE.n_vocab)
    with pytest.raises(RuntimeError, match="same device"):
        TOKENS[here()]
    with pytest.raises(RuntimeError, match="generator"):
        torch.randn(3, generator=random(), device=GPU)
    with pytest.raises(TypeError, match="numpy"):
        np.asarray(model.W_E)
    assert model(here()).device == GPU and model(here()).cpu().device.type == "cpu"
