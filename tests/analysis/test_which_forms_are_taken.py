"""Every public analysis of a model, given one of every form: refused in words, or right.

What is right is what a forward pass in NumPy gives, with the change made in the weights (`forms`).
"""

import functools
import importlib
import inspect
import pkgutil
from types import SimpleNamespace

import forms
import numpy as np
import pytest
import torch

from transformer_circuits import analysis, files
from transformer_circuits.analysis import (
    ablation,
    by_length,
    causal_scrubbing,
    composition,
    edge_effects,
    expansion,
    head_roles,
    heads,
    induction,
    layer_norm,
    path_patching,
    patterns,
    present_token,
    repeats,
    term_importance,
)
from transformer_circuits.analysis.later_work import (
    attributions,
    credit,
    edge_sets,
    features,
    markov,
    over_text,
    singular_directions,
)
from transformer_circuits.analysis.one_layer import (
    ensemble,
    skip_trigram_bugs,
    skip_trigram_places,
    skip_trigrams,
)
from transformer_circuits.interop import own_model
from transformer_circuits.model import general
from transformer_circuits.model.transformer import Transformer

STREAM = torch.randint(1, 17, (200,), generator=torch.Generator().manual_seed(0))
PLACES = torch.arange(3)
NEVER = torch.zeros(17, 17, dtype=torch.bool)
PASSAGES = torch.tensor([[3, 1, 4, 1], [5, 9, 2, 6]])
EDGE = ("K", (1, 2), (0, 3))


def beside(model):
    """What a call needs, in the model's precision."""
    like, inputs = model.W_E, STREAM[:28].reshape(4, 7)
    every = torch.ones(17, dtype=torch.bool)
    return SimpleNamespace(
        IN=inputs,
        OUT=STREAM[1:29].reshape(4, 7),
        ALONE=inputs[0],
        FORMS=torch.arange(17)[:, None],
        WORDS=torch.zeros(17, dtype=torch.long),
        APART={(1, 2): (every, every)},
        NOTHING=torch.zeros(4, 7, len(like)).to(like),
        EYE=torch.eye(len(like)).to(like),
        EVEN=(torch.ones(17) / 17).to(like),
    )


CALLS = {
    ablation.without: lambda f, m, t, x: f(m, [(0, 1)])(x.IN),
    ablation.without_mlps: lambda f, m, t, x: f(m)(x.IN),
    ablation.with_output: lambda f, m, t, x: f(m, t, (0, 1), t.head_outputs[0][:, 0]),
    ablation.losses_without_heads: lambda f, m, t, x: f(m, x.IN, x.OUT, [(0, 1)]),
    ablation.loss_increase: lambda f, m, t, x: f(m, x.IN, x.OUT),
    ablation.losses_at: lambda f, m, t, x: f(m, STREAM, torch.tensor([20, 40])),
    by_length.measured: lambda f, m, t, x: f(m).matches,
    causal_scrubbing.losses: lambda f, m, t, x: f(m, x.IN, x.OUT, [(1, 2)], (0, 3)),
    composition.reader: lambda f, m, t, x: f(m, "K", (1, 2)),
    composition.scores: lambda f, m, t, x: f(m, "K", basis="stored"),
    composition.shares: lambda f, m, t, x: f(m, x.IN),
    composition.matching: lambda f, m, t, x: f(m, (1, 2), (0, 3)),
    composition.impossible: lambda f, m, t, x: f(m, "K", basis="stored"),
    composition.change_basis: lambda f, m, t, x: f(m, 2 * x.EYE)(x.IN),
    composition.white_basis: lambda f, m, t, x: f(m, x.IN),
    edge_effects.effects: lambda f, m, t, x: f(m, x.IN, x.OUT, PLACES),
    expansion.paths: lambda f, m, t, x: f(m, x.IN),
    expansion.score_terms: lambda f, m, t, x: f(m, x.IN, (1, 2)),
    head_roles.census: lambda f, m, t, x: [row[1:] for row in f(m)],
    head_roles.matching: lambda f, m, t, x: f(m),
    head_roles.induction_head: lambda f, m, t, x: f(m),
    head_roles.previous_token_head: lambda f, m, t, x: f(m, STREAM),
    head_roles.previous_token_heads: lambda f, m, t, x: f(m, STREAM),
    head_roles.cast: lambda f, m, t, x: f(m, STREAM),
    heads.every: lambda f, m, t, x: f(m),
    heads.of_layer: lambda f, m, t, x: f(m, 1),
    heads.one: lambda f, m, t, x: m.layers[f(m, (1, 2)).layer].W_O,
    heads.require_two_layers: lambda f, m, t, x: f(m),
    heads.W_OV: lambda f, m, t, x: f(m, (1, 2)),
    heads.W_QK: lambda f, m, t, x: f(m, (1, 2)),
    heads.full_ov: lambda f, m, t, x: f(m, (1, 2)),
    heads.full_qk: lambda f, m, t, x: f(m, (0, 2)),
    induction.in_context_learning_score: lambda f, m, t, x: f(m, STREAM, 9, (8, 10), (2, 4)),
    layer_norm.freeze: lambda f, m, t, x: f(m, x.IN)(x.IN),
    path_patching.edge: lambda f, m, t, x: torch.tensor(f(m, *EDGE)[1:]),
    path_patching.without_edge: lambda f, m, t, x: f(m, t, *EDGE),
    path_patching.loss_increase: lambda f, m, t, x: f(m, x.IN, x.OUT),
    path_patching.losses_without_edges: lambda f, m, t, x: f(m, t, (1, 2), x.OUT),
    patterns.of_all_layers: lambda f, m, t, x: f(m, x.IN),
    patterns.stream: lambda f, m, t, x: m.unembed(f(m, x.IN)),
    patterns.stream_at: lambda f, m, t, x: m.unembed(f(m, x.IN, PLACES)),
    patterns.value_norms: lambda f, m, t, x: f(m, t, 0),
    patterns.value_weighted: lambda f, m, t, x: f(m, t, 0),
    present_token.heads: lambda f, m, t, x: f(m, x.IN),
    present_token.written_out: lambda f, m, t, x: f(m, m.embed(x.IN)[0], [(0, 1)])[0],
    repeats.predictions: lambda f, m, t, x: vars(f(m, PASSAGES)),
    repeats.loss_increase_by_copy: lambda f, m, t, x: f(m, [PASSAGES]),
    term_importance.streams: lambda f, m, t, x: f(m, x.IN),
    term_importance.streams_by_steps: lambda f, m, t, x: f(m, x.IN),
    term_importance.patterns_of_embeddings: lambda f, m, t, x: f(m, x.IN),
    term_importance.under_patterns_of_embeddings: lambda f, m, t, x: f(m, x.IN),
    term_importance.losses: lambda f, m, t, x: f(m, x.IN, x.OUT),
    term_importance.losses_by_steps: lambda f, m, t, x: f(m, x.IN, x.OUT),
    ensemble.copying: lambda f, m, t, x: f(
        m, x.IN, t.patterns[0], x.FORMS, m.W_U @ m.layers[0].W_O
    ),
    ensemble.each_by_itself: lambda f, m, t, x: f(m, x.IN, x.EVEN, m.layers[0].W_K @ m.W_E),
    skip_trigram_bugs.split: lambda f, m, t, x: f(m, x.IN),
    skip_trigram_bugs.veto: lambda f, m, t, x: f(m, STREAM, NEVER, 3),
    skip_trigram_bugs.raised_together: lambda f, m, t, x: f(m, x.IN, x.APART),
    skip_trigram_places.read: lambda f, m, t, x: f(m, 3),
    skip_trigrams.factors: lambda f, m, t, x: f(m, (0, 1)),
    attributions.of_score: lambda f, m, t, x: f(m, x.ALONE, (1, 2), 5, 3),
    attributions.by_maker: lambda f, m, t, x: f(m, x.ALONE, (1, 2), 5),
    attributions.loadings: lambda f, m, t, x: f(m, x.ALONE, 5, 3),
    credit.paths: lambda f, m, t, x: f(m, x.ALONE, 5, 3),
    credit.of_edges: lambda f, m, t, x: f(m, x.IN, PLACES)[0],
    path_patching.patched: lambda f, m, t, x: f(m, t, {EDGE: x.NOTHING}),
    path_patching.losses_patched: lambda f, m, t, x: f(m, t, {EDGE: x.NOTHING}, x.OUT),
    edge_sets.rise: lambda f, m, t, x: f(m, t, x.OUT, [EDGE]),
    edge_sets.interaction: lambda f, m, t, x: f(m, t, x.OUT, EDGE, ("Q", (1, 2), (0, 3))),
    features.makers: lambda f, m, t, x: f(m, 1),
    features.vectors: lambda f, m, t, x: f(m, heads.Head(0, 1)),
    features.activations: lambda f, m, t, x: f(m, x.IN, 1),
    features.qk: lambda f, m, t, x: f(m, (1, 2), "token", "token"),
    features.ov: lambda f, m, t, x: f(m, (1, 2), "token"),
    markov.predicted: lambda f, m, t, x: f(m, PASSAGES % 3, torch.tensor([[1, 2, 3]] * 2)),
    over_text.strongest: lambda f, m, t, x: f(m, x.IN, x.OUT, (1, 2), x.WORDS),
    singular_directions.strengths: lambda f, m, t, x: f(m, "K"),
    singular_directions.channel: lambda f, m, t, x: f(m, EDGE, 2),
    singular_directions.narrowed: lambda f, m, t, x: f(m, t, EDGE, x.EYE),
}

ASKED_ALONE = {induction.in_context_learning_score, repeats.predictions}
"""What takes anything that makes logits of tokens."""


def name(function):
    return f"{function.__module__.removeprefix(analysis.__name__ + '.')}.{function.__name__}"


def public():
    """The functions of `analysis` that take a model of the book."""
    for found in pkgutil.walk_packages(analysis.__path__, analysis.__name__ + "."):
        for function in vars(importlib.import_module(found.name)).values():
            own = inspect.isfunction(function) and function.__module__ == found.name
            if own and not function.__name__.startswith("_"):
                kinds = (
                    each.annotation for each in inspect.signature(function).parameters.values()
                )
                if function in ASKED_ALONE or Transformer in kinds:
                    yield function


class Numpy(Transformer):
    """What is known of a model by its forward pass in NumPy: logits and patterns, and no more."""

    def __init__(self, w, c, model):
        torch.nn.Module.__init__(self)
        self.w, self.c, self.config, self.layers = w, c, model.config, model.layers
        self.W_E = torch.full_like(model.W_E, torch.nan)  # for its device

    def __call__(self, tokens, **how):
        return torch.from_numpy(forms.forward(self.w, self.c, tokens.numpy(), **how))

    def stream(self, tokens):
        return self(tokens)

    def unembed(self, x):
        return x

    def trace(self, tokens):
        kept = {}
        self(tokens, keep=kept)
        n_heads = self.c["n_heads"]
        each = [
            torch.stack([torch.from_numpy(kept[i, h][0]) for h in range(n_heads)], 1)
            for i in range(self.c["n_layers"])
        ]
        return SimpleNamespace(patterns=tuple(each))

    def loss(self, tokens, targets, **how):
        """The mean over what is counted."""
        found = forms.losses(self(tokens, **how).numpy(), targets.clamp(min=0).numpy())
        return float(found[targets.numpy() != -100].mean())


def plain(n):
    """The same as a function of tokens, of which nothing more is known than its context."""

    def logits(tokens):
        return n(tokens)

    logits.config = n.config
    return logits


def padded(M, model):
    wide = torch.zeros(2 * [model.config.d_model], dtype=torch.float64)
    wide[: len(M), : len(M)] = torch.from_numpy(M)
    return wide


def numpy_scores(w, c, kind, layers=(1, 0)):
    def score(later, earlier):
        read = {"V": OV, "K": QK, "Q": lambda *a: QK(*a).T}[kind](w, c, later)
        wrote = OV(w, c, earlier)
        return np.linalg.norm(read @ wrote) / np.linalg.norm(read) / np.linalg.norm(wrote)

    every = range(c["n_heads"])
    late, early = layers
    return torch.tensor([[score((late, i), (early, j)) for j in every] for i in every])


def rises(np_model, x, axis=()):
    """By how much the loss rises with each edge cut."""
    whole, n = np_model.loss(x.IN, x.OUT), range(np_model.c["n_heads"])
    each = [
        np_model.loss(x.IN, x.OUT, unread=[(kind, (1, i), (0, j))]) - whole
        for kind in "QKV" for i in n for j in n
    ]  # fmt: skip
    return torch.tensor(each).view(3, len(n), len(n))


def without_each(np_model, x):
    """The loss at every place with each edge into head 1.2 cut."""
    each = [
        forms.losses(np_model(x.IN, unread=[(kind, (1, 2), (0, j))]).numpy(), x.OUT.numpy())
        for kind in "QKV" for j in range(np_model.c["n_heads"])
    ]  # fmt: skip
    return torch.tensor(np.stack(each)).view(3, -1, *x.OUT.shape)


def silenced(np_model, tokens, targets):
    c, whole = np_model.c, np_model.loss(tokens, targets)
    each = [
        np_model.loss(tokens, targets, instead={(i, h): 0.0}) - whole
        for i in range(c["n_layers"]) for h in range(c["n_heads"])
    ]  # fmt: skip
    return torch.tensor(each).view(c["n_layers"], c["n_heads"])


def by_copy(np_model, passages):
    tokens = repeats.copies(passages)
    each = (repeats.targets_of_copy(tokens, passages.shape[1], copy) for copy in (0, 1))
    return torch.stack([silenced(np_model, tokens, targets) for targets in each])


def OV(w, c, head):  # noqa: N802
    """W_O W_V with the gain before it, [d_model written, d_model read], as layer norm leaves it."""
    return circuit(w, c, head, "V", w[f"blocks.{head[0]}.attn.W_O"][head[1]]).T


def QK(w, c, head):  # noqa: N802
    """W_Qᵀ W_K, each with the gain before it: [d_model of destination, d_model of source]."""
    return circuit(w, c, head, "Q", circuit(w, c, head, "K", np.eye(c["d_head"])).T)


def circuit(w, c, head, kind, after):
    layer, h = head
    W = w[f"blocks.{layer}.attn.W_{kind}"]
    W = W[h * len(W) // c["n_heads"]] * w.get(f"blocks.{layer}.ln1.w", np.ones(len(W[0])))[:, None]
    if str(c["normalization_type"])[:2] == "LN":  # nothing reads or writes a mean
        W = W - W.mean(0)
        after = after - after.mean(1, keepdims=True) if kind == "V" else after
    return W @ after


def query_bias(w, c, head):
    """The bias of queries, with that before the gain and with what was added to the stream, times W_K."""
    at = f"blocks.{head[0]}."
    W, b = w[at + "attn.W_Q"][head[1]], w[at + "attn.b_Q"][head[1]] + 0
    if c["normalization_type"] is None:
        b += sum((w[f"blocks.{i}.attn.b_O"] for i in range(head[0])), np.zeros(len(W))) @ W
    else:
        b += w.get(at + "ln1.b", np.zeros(len(W))) @ W
    return circuit(w, c, head, "K", b)


def ends(w, c):
    """W_E and W_U in the paper's orientation, with the last gain, as layer norm leaves them."""
    W_E, W_U = w["embed.W_E"].T, w["unembed.W_U"].T * w.get("ln_final.w", 1.0)
    if str(c["normalization_type"])[:2] == "LN":
        W_E, W_U = W_E - W_E.mean(0), W_U - W_U.mean(1, keepdims=True)
    return W_E, W_U


def of_tokens(n, circuit, out=False):
    """A circuit of the stream as one of tokens, and of outputs if it ends there."""
    W_E, W_U = ends(n.w, n.c)
    return torch.from_numpy((W_U if out else W_E.T) @ circuit @ W_E)


def with_bias(n, head):
    """W_QK of a model with biases of queries, in the wide stream."""
    wide = np.zeros((len(n.W_E), len(n.W_E)))
    d = n.c["d_model"]
    wide[:d, :d], wide[d, :d] = QK(n.w, n.c, head), query_bias(n.w, n.c, head)
    return torch.from_numpy(wide)


def of_tokens_with_bias(n, head):
    W_E, _ = ends(n.w, n.c)
    return of_tokens(n, QK(n.w, n.c, head)) + torch.from_numpy(query_bias(n.w, n.c, head) @ W_E)


def matching(n):
    W_E, _ = ends(n.w, n.c)
    moved = OV(n.w, n.c, (0, 3)) @ W_E
    reads = W_E.T @ QK(n.w, n.c, (1, 2)) + query_bias(n.w, n.c, (1, 2))
    return torch.from_numpy(reads @ moved)


RIGHT = {
    heads.W_OV: lambda n, m, t, x: padded(OV(n.w, n.c, (1, 2)), m),
    heads.W_QK: lambda n, m, t, x: with_bias(n, (1, 2)),
    heads.full_ov: lambda n, m, t, x: of_tokens(n, OV(n.w, n.c, (1, 2)), out=True),
    heads.full_qk: lambda n, m, t, x: of_tokens_with_bias(n, (0, 2)),
    composition.scores: lambda n, m, t, x: numpy_scores(n.w, n.c, "K"),
    composition.reader: lambda n, m, t, x: padded(QK(n.w, n.c, (1, 2)), m),
    composition.matching: lambda n, m, t, x: matching(n),
    composition.impossible: lambda n, m, t, x: {
        layers: composition.apart(numpy_scores(n.w, n.c, "K", layers), layers)
        for layers in composition.IMPOSSIBLE
    },
    ablation.without: lambda n, m, t, x: n(x.IN, instead={(0, 1): 0.0}),
    ablation.with_output: lambda n, m, t, x: n(
        x.IN, instead={(0, 1): t.head_outputs[0][:, 0, :, : n.c["d_model"]].numpy()}
    ),
    ablation.loss_increase: lambda n, m, t, x: silenced(n, x.IN, x.OUT),
    repeats.loss_increase_by_copy: lambda n, m, t, x: by_copy(n, PASSAGES),
    path_patching.without_edge: lambda n, m, t, x: n(x.IN, unread=[EDGE]),
    path_patching.patched: lambda n, m, t, x: n(x.IN, unread=[EDGE]),
    path_patching.losses_patched: lambda n, m, t, x: torch.tensor(
        forms.losses(n(x.IN, unread=[EDGE]).numpy(), x.OUT.numpy())
    ).view_as(x.OUT),
    path_patching.loss_increase: lambda n, m, t, x: rises(n, x),
    path_patching.losses_without_edges: lambda n, m, t, x: without_each(n, x),
    patterns.of_all_layers: lambda n, m, t, x: n.trace(x.IN).patterns,
    patterns.stream: lambda n, m, t, x: n(x.IN),
    patterns.stream_at: lambda n, m, t, x: n(x.IN)[:, PLACES],
    layer_norm.freeze: lambda n, m, t, x: n(x.IN),
    expansion.paths: lambda n, m, t, x: n(x.IN),
    term_importance.streams: lambda n, m, t, x: n(x.IN),
    term_importance.streams_by_steps: lambda n, m, t, x: n(x.IN),
    term_importance.losses: lambda n, m, t, x: torch.tensor(n.loss(x.IN, x.OUT)),
    term_importance.losses_by_steps: lambda n, m, t, x: torch.tensor(n.loss(x.IN, x.OUT)),
    edge_sets.rise: lambda n, m, t, x: torch.tensor(
        [n.loss(*one, unread=[EDGE]) - n.loss(*one) for one in zip(x.IN.split(1), x.OUT.split(1), strict=True)]
    ),
    singular_directions.narrowed: lambda n, m, t, x: n(x.IN),
    induction.in_context_learning_score: lambda n, m, t, x: CALLS[induction.in_context_learning_score](
        induction.in_context_learning_score, plain(n), t, x
    ),
}  # fmt: skip
"""What NumPy makes of each of `CALLS`, where an analysis takes more than the paper's form."""
SEEN = {
    function: lambda n, m, t, x, f=function: CALLS[f](f, n, t, x)
    for function in (
        repeats.predictions, markov.predicted,
    )
}  # fmt: skip
"""What asks for logits and patterns alone gets those of NumPy."""
NO_MATTER = {heads.every, heads.of_layer, heads.one, heads.require_two_layers, path_patching.edge}
"""What gives no numbers but the weights themselves."""
BY_PARTS = {
    singular_directions.strengths, singular_directions.channel, composition.white_basis,
    edge_sets.interaction, over_text.strongest, term_importance.patterns_of_embeddings,
    term_importance.under_patterns_of_embeddings,
    ablation.without_mlps, ablation.losses_without_heads, ablation.losses_at, expansion.score_terms, present_token.heads,
    by_length.measured, head_roles.census, head_roles.matching, head_roles.induction_head,
    head_roles.previous_token_head, head_roles.previous_token_heads, head_roles.cast,
}  # fmt: skip
"""What is made of results above by its own arithmetic, which other tests try."""
SUMS = {
    expansion.paths: lambda m, found: m.unembed(sum(found.values())),
    term_importance.streams: lambda m, found: m.unembed(found.orders[-1]),
    term_importance.streams_by_steps: lambda m, found: m.unembed(found[-1]),
    term_importance.losses: lambda m, found: found[f"order {len(m.layers)}"].mean(),
    term_importance.losses_by_steps: lambda m, found: found[-1].mean(),
}
"""Of decompositions, the whole that they must sum to; `test_forms` tries the parts."""
TRIED = ("positions in the stream", "rotary", "layer norm", "RMS norm, rotary, grouped",
         "outputs of its own", "held")  # fmt: skip


@functools.cache
def of_form(form, n_layers):
    c = forms.config("layer norm" if form == "held" else form) | {"n_layers": n_layers}
    if "d_vocab_out" in c:
        c["d_vocab_out"] = 23  # so that the targets of the calls are among them
    w = forms.draw(c)
    model = own_model.load(forms.as_tensors(w), c)
    return Numpy(w, c, model), model


def as_arrays(found):
    if isinstance(found, dict):
        return {key: as_arrays(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [as_arrays(each) for each in found]
    return found.dense() if hasattr(found, "dense") else found


def agree(function, form):
    """Fails unless the function is right about a model of this form, or refuses it in words."""
    by_numpy, model = of_form(form, 1 if "one_layer" in function.__module__ else 2)
    x = beside(model)
    trace = model.trace(x.IN)
    if form == "held":
        model = layer_norm.freeze(model, x.IN)
    try:
        found = CALLS[function](function, model, trace, x)
    except files.UserError as error:
        said = str(error)
        assert any(remedy in said for remedy in general.FORMS.values()) or "freeze the" in said
        return
    if function in NO_MATTER | BY_PARTS:
        return
    expected = (RIGHT | SEEN)[function](by_numpy, model, trace, x)
    found = SUMS.get(function, lambda m, found: found)(model, found)
    torch.testing.assert_close(
        as_arrays(found), as_arrays(expected), atol=1e-7, rtol=1e-5, check_dtype=False
    )


def test_no_analysis_is_left_out():
    assert {*public()} == {*CALLS}


@pytest.mark.parametrize("form", TRIED)
@pytest.mark.parametrize("function", CALLS, ids=name)
def test_another_form_is_refused_in_words_or_the_answer_is_that_of_numpy(function, form):
    agree(function, form)


@pytest.mark.parametrize("function", RIGHT | SEEN, ids=name)
def test_of_a_model_of_the_papers_form_the_answer_is_that_of_numpy(function):
    agree(function, "as in the paper")
