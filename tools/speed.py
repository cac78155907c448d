"""Speed and memory next to what others would use. One run, one machine.

Needs the extra `peers`. First two layers: paths, edges, composition scores; then a layer's spectra and
skip-trigrams; then what one asks of a model with a large vocabulary. Last, training: the same random
tokens in the same batches. The page *Speed and memory* says what each line is.
"""

import dataclasses
import functools
import os
import time
from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from tools import peers, vocabularies
from transformer_circuits.analysis import composition, expansion, heads, path_patching
from transformer_circuits.analysis.one_layer import skip_trigrams
from transformer_circuits.model.config import ModelConfig
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.model.transformer_lens import to_transformer_lens
from transformer_circuits.training import cross_entropy
from transformer_circuits.training.config import TrainConfig
from transformer_circuits.training.recipe import optimizers

SHAPE = ModelConfig(
    n_layers=2, n_heads=8, d_model=256, d_head=64, n_vocab=4096, n_ctx=512, position_base=1000.0
)
"""That of the two-layer model of the book."""
PLAN = TrainConfig(seed=0, steps=1, batch=16, lr_embed=0.005, lr_attention=0.02, warmup_steps=1,
                   decay_from=0.0, corpus="small")  # fmt: skip
KEEPING = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1)}
"""Has glibc reuse large blocks of memory instead of giving them back to the system."""
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


def main() -> None:
    """Measure everything, each part in a process of its own, and print it line by line."""
    for n_heads, n_pos in ((6, 256), (12, 256), (12, 128)):
        vocabularies.alone(two_layers, n_heads, n_pos)
    for n_vocab, dense in ((2048, False), (4096, True)):
        vocabularies.alone(circuits, n_vocab, dense)
    for row in vocabularies.rows():
        say(row)
    os.environ.update(KEEPING)
    vocabularies.alone(training)


def _seconds(run: Callable[[], object], warm: bool = True) -> float:
    if warm:
        run()
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


@torch.no_grad()
def two_layers(n_heads: int, n_pos: int) -> None:
    """Time scores, all edges and all paths of a random model with d_head 64; memory of the paths."""
    shape = dataclasses.replace(
        SHAPE, n_heads=n_heads, d_head=64, d_model=64 * n_heads, n_vocab=2048
    )
    model = _random(shape)
    tokens = torch.randint(shape.n_vocab, (1, n_pos), generator=torch.Generator().manual_seed(0))
    what, before = f"{n_heads} + {n_heads} heads, {n_pos} tokens", vocabularies.peak()
    paths = _seconds(lambda: expansion.paths(model, tokens))
    more = vocabularies.peak() - before
    say(f"{what}: {(1 + n_heads) ** 2} paths {paths:.3f} s, {more:,.0f} MB more")
    edges = _seconds(lambda: path_patching.loss_increase(model, tokens, tokens))
    say(f"{what}: all {3 * n_heads**2} edges patched {edges:.2f} s")
    scores = _seconds(lambda: [composition.scores(model, kind) for kind in composition.KINDS])
    say(f"{what}: all composition scores {scores:.3f} s")
    peer = peers.hooked(model)
    taken = _seconds(lambda: [peer.all_composition_scores(kind) for kind in composition.KINDS])
    say(f"    TransformerLens, the same scores: {taken:.3f} s, {taken / scores:.1f} times as long")
    taken = _seconds(lambda: peers.loss_increase(peer, tokens, tokens))
    say(f"    TransformerLens, the same edges: {taken:.2f} s, {taken / edges:.1f} times as long")


@torch.no_grad()
def circuits(n_vocab: int, dense: bool) -> None:
    """Time the spectra of a layer's random heads, and time and memory of one head's skip-trigrams."""
    model = _random(dataclasses.replace(SHAPE, n_layers=1, n_vocab=n_vocab))
    each, before = heads.every(model), vocabularies.peak()

    def trigrams() -> int:
        factors = skip_trigrams.factors(model, each[0])
        return skip_trigrams.rank(factors, skip_trigrams.top(factors, 100)[50])

    taken = _seconds(trigrams, warm=False)
    more, what = vocabularies.peak() - before, f"n_vocab {n_vocab}:"
    say(f"{what} a head's 100 strongest skip-trigrams, and the rank of one, among")
    say(f"    {n_vocab**3:,}: {taken:.2f} s, {more:,.0f} MB more")
    taken = _seconds(lambda: [heads.full_ov(model, head).eigenvalues() for head in each])
    say(f"{what} {f'this book, {len(each)} spectra':44} {taken:8.3f} s")
    taken = _seconds(lambda: peers.spectra(model))
    say(f"{what} {f'TransformerLens FactoredMatrix, {len(each)} spectra':44} {taken:8.3f} s")
    if dense:
        whole = heads.full_ov(model, each[0]).dense()
        taken = _seconds(lambda: torch.linalg.eigvals(whole), warm=False)
        say(f"{what} {'torch.linalg.eigvals, dense, 1 spectrum':44} {taken:8.3f} s")


def _random(shape: ModelConfig) -> Transformer:
    model = Transformer(shape).requires_grad_(False)
    model.randomise(generator=torch.Generator().manual_seed(0))
    return model


def training() -> None:
    """Print the training speed of each implementation, and ours as ratios between the fastest ways.

    Ours has the optimizers of the book, Muon and Adam; the others have AdamW.
    """
    implementations: dict[str, Callable[[], nn.Module]] = {
        "TransformerLens": lambda: to_transformer_lens(Transformer(SHAPE)),
        "nn.MultiheadAttention, d_head 32": lambda: PlainStack(SHAPE),
        "this book": lambda: Transformer(SHAPE),
    }
    say(f"tokens per second, training, {SHAPE}, batch {PLAN.batch}")
    fastest = dict.fromkeys(implementations, 0.0)
    for name, make in implementations.items():
        for bf16, compiled in ((False, False), (True, False), (True, True)):
            way = f"{'bf16' if bf16 else 'fp32'}, {'compiled' if compiled else 'eager'}"
            try:
                found = tokens_per_second(make(), bf16, compiled)
                say(f"{name:32} {way:16} {found:10,.0f}")
                fastest[name] = max(fastest[name], found)
            except Exception as error:  # a peer that cannot run this way is a result too
                say(f"{name:32} {way:16} does not run: {type(error).__name__}")
            torch.compiler.reset()
    for name in [*fastest][:-1]:
        ratio = fastest["this book"] / fastest[name]
        say(f"this book trains {ratio:.2f} times as fast as {name}")


def tokens_per_second(model: nn.Module, bf16: bool, compiled: bool, seconds: float = 12.0) -> float:
    """Training speed: forward, backward and update."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(SHAPE.n_vocab, (PLAN.batch, SHAPE.n_ctx + 1), generator=generator)
    ours = isinstance(model, Transformer)
    updates = optimizers(model, PLAN) if ours else [torch.optim.AdamW(model.parameters())]

    def loss() -> Tensor:
        return cross_entropy.loss_nats(model, tokens[:, :-1], tokens[:, 1:])

    run: Callable[[], Tensor] = torch.compile(loss) if compiled else loss

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            value = run()
        value.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for update in updates:
            update.step()
            update.zero_grad()

    for _ in range(3):
        step()
    started, steps = time.perf_counter(), 0
    while time.perf_counter() - started < seconds:
        step()
        steps += 1
    return steps * PLAN.batch * SHAPE.n_ctx / (time.perf_counter() - started)
