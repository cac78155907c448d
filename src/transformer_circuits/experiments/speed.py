"""Speed and memory next to what others would use. One run, one machine.

Needs the `peers` extra for TransformerLens. First the circuits of a one-layer model: spectra and
skip-trigrams; then those of two layers: composition scores, edges, paths. Last, training: the same
random tokens in the same batches, and every row says how it was run. `large_vocabularies` has a table
of its own.
"""

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from unittest import mock

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.analysis import composition, expansion, heads, path_patching
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.experiments import in_transformer_lens, large_vocabularies, memory
from transformer_circuits.interop.transformer_lens import to_transformer_lens
from transformer_circuits.model import attention, cross_entropy
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.recipe import optimizers

SHAPE = ModelConfig(
    n_layers=2, n_heads=8, d_model=256, d_head=64, n_vocab=4096, n_ctx=512, position_base=1000.0
)
"""That of the two-layer model of the book."""
ONE_LAYER = dataclasses.replace(SHAPE, n_layers=1)
PLAN = TrainConfig(
    seed=0,
    steps=1,
    batch=16,
    lr_embed=0.005,
    lr_attention=0.02,
    warmup_steps=1,
    decay_from=0.0,
    corpus="small",
)
say = functools.partial(print, flush=True)  # processes of their own write here, too


class PlainStack(nn.Module):
    """What one writes in five minutes: nn.MultiheadAttention and residual connections.

    Its heads share d_model among them: d_head is d_model / n_heads, half of ours, whatever the
    shape says, and so it has half of the work to do in attention.
    """

    def __init__(self, shape: ModelConfig):
        super().__init__()
        self.embed = nn.Embedding(shape.n_vocab, shape.d_model)
        self.position = nn.Parameter(torch.zeros(shape.n_ctx, shape.d_model))
        self.layers = nn.ModuleList(
            nn.MultiheadAttention(shape.d_model, shape.n_heads, bias=False, batch_first=True)
            for _ in range(shape.n_layers)
        )
        self.unembed = nn.Linear(shape.d_model, shape.n_vocab, bias=False)
        mask = nn.Transformer.generate_square_subsequent_mask(shape.n_ctx)
        self.register_buffer("mask", mask)

    def forward(self, tokens: Int[Tensor, "batch pos"]) -> Float[Tensor, "batch pos n_vocab"]:
        x = self.embed(tokens)
        for layer in self.layers:
            qk = x + self.position
            x = x + layer(qk, qk, x, attn_mask=self.mask, is_causal=True, need_weights=False)[0]
        return self.unembed(x)


def speed(
    model: nn.Module,
    optimizers: list[torch.optim.Optimizer],
    bf16: bool,
    compiled: bool,
    seconds: float = 12.0,
) -> float:
    """Training speed: forward, backward and update. [tokens per second]"""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(SHAPE.n_vocab, (PLAN.batch, SHAPE.n_ctx + 1), generator=generator)

    def loss() -> Tensor:
        return cross_entropy.loss_nats(model, tokens[:, :-1], tokens[:, 1:])

    run: Callable[[], Tensor] = torch.compile(loss) if compiled else loss

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            value = run()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()

    for _ in range(3):
        step()
    started, steps = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        step()
        steps += 1
    return steps * PLAN.batch * SHAPE.n_ctx / (time.perf_counter() - started)


def _seconds(run: Callable[[], object]) -> float:
    run()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


@torch.no_grad()
def circuits(n_vocab: int, dense: bool) -> None:
    """Time the spectra of a layer's random heads, and time and memory of one head's skip-trigrams."""
    model = Transformer(dataclasses.replace(ONE_LAYER, n_vocab=n_vocab)).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    each = heads.every(model)
    megabytes = memory.most()
    started = time.perf_counter()
    factors = skip_trigrams.factors(model, each[0])
    strongest = skip_trigrams.top(factors, 100)[50]
    rank = skip_trigrams.rank(factors, strongest)
    taken = time.perf_counter() - started
    more = memory.most() - megabytes
    say(
        f"n_vocab {n_vocab}: skip-trigrams of a head, 100 strongest and the rank of one ({rank}) of"
    )
    say(f"    {n_vocab**3:,}: {taken:.2f} s, {more:,.0f} MB more")

    spectra = f"{len(each)} spectra"
    rows = {
        f"this book, {spectra}": lambda: [
            heads.full_ov(model, head).eigenvalues() for head in each
        ],
        f"TransformerLens FactoredMatrix, {spectra}": lambda: in_transformer_lens.spectra(model),
    }
    for name, run in rows.items():
        try:
            say(f"n_vocab {n_vocab}: {name:44} {_seconds(run):8.3f} s")
        except ImportError as error:
            say(f"n_vocab {n_vocab}: {name:44} does not run: {error}")
    if dense:
        started = time.perf_counter()
        torch.linalg.eigvals(heads.full_ov(model, each[0]).dense())
        taken = time.perf_counter() - started
        say(f"n_vocab {n_vocab}: {'torch.linalg.eigvals, dense, 1 spectrum':44} {taken:8.3f} s")


@torch.no_grad()
def two_layers(n_heads: int, n_pos: int) -> None:
    """Time scores, all edges and all paths of a random model with d_head 64; memory of the paths."""
    shape = dataclasses.replace(
        SHAPE, n_heads=n_heads, d_head=64, d_model=64 * n_heads, n_vocab=2048
    )
    model = Transformer(shape).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    tokens = torch.randint(shape.n_vocab, (1, n_pos), generator=torch.Generator().manual_seed(0))
    what, before = f"{n_heads} + {n_heads} heads, {n_pos} tokens", memory.most()
    paths = _seconds(lambda: expansion.paths(model, tokens))
    more = memory.most() - before
    say(f"{what}: {(1 + n_heads) ** 2} paths {paths:.3f} s, {more:,.0f} MB more")
    edges = _seconds(lambda: path_patching.loss_increase(model, tokens, tokens))
    say(f"{what}: all {3 * n_heads**2} edges patched {edges:.2f} s")
    scores = _seconds(lambda: [composition.scores(model, kind) for kind in composition.KINDS])
    say(f"{what}: all composition scores {scores:.3f} s")
    try:
        peer = in_transformer_lens.hooked(model)
    except ImportError as error:
        say(f"    TransformerLens does not run: {error}")
        return
    taken = _seconds(lambda: [peer.all_composition_scores(kind) for kind in composition.KINDS])
    say(f"    TransformerLens, the same scores: {taken:.3f} s, {taken / scores:.1f} times as long")
    taken = _seconds(lambda: in_transformer_lens.loss_increase(peer, tokens, tokens))
    say(f"    TransformerLens, the same edges: {taken:.2f} s, {taken / edges:.1f} times as long")


def main() -> None:
    """Measure everything and print one row per implementation and way of running it."""
    for n_heads, n_pos in ((6, 256), (12, 256), (12, 128)):
        memory.alone(two_layers, n_heads, n_pos)
    for n_vocab, dense in ((2048, False), (4096, True)):
        memory.alone(circuits, n_vocab, dense)
    large_vocabularies.main()
    training()


def training() -> None:
    """Print the training speed of each implementation and way of running it, and ours as ratios.

    The ratios compare the fastest way of each. Ours has the optimizers of the book, Muon and Adam;
    the others have AdamW.
    """
    fused = functools.partial(F.scaled_dot_product_attention, is_causal=True)
    plain_attention = mock.patch.object(attention, "causal_results", fused)
    rows = {
        "TransformerLens": (lambda: to_transformer_lens(Transformer(SHAPE)), nullcontext()),
        "nn.MultiheadAttention, d_head 32": (lambda: PlainStack(SHAPE), nullcontext()),
        "this book, PyTorch's attention": (lambda: Transformer(SHAPE), plain_attention),
        "this book": (lambda: Transformer(SHAPE), nullcontext()),
    }
    say(f"tokens per second, training, {SHAPE}, batch {PLAN.batch}")
    fastest: dict[str, float] = {}
    for name, (make, how) in rows.items():
        with how:
            fastest[name] = max(_speeds(name, make), default=math.nan)
    for name, value in fastest.items():
        if name != "this book":
            say(f"this book trains {fastest['this book'] / value:.2f} times as fast as {name}")


def _speeds(name: str, make: Callable[[], nn.Module]) -> Iterator[float]:
    """The speed of one implementation in each precision, eager and compiled, printed as it goes."""
    for bf16, compiled in ((False, False), (True, False), (True, True)):
        model = make()
        ours = isinstance(model, Transformer)
        optimizer = optimizers(model, PLAN) if ours else [torch.optim.AdamW(model.parameters())]
        way = f"{'bf16' if bf16 else 'fp32'}, {'compiled' if compiled else 'eager'}"
        try:
            found = speed(model, optimizer, bf16, compiled)
            say(f"{name:32} {way:34} {found:10,.0f}")
            yield found
        except Exception as error:  # a peer that cannot run this way is a result too
            say(f"{name:32} {way:34} does not run: {type(error).__name__}")
        torch.compiler.reset()
