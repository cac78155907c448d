"""Training speed of the book's two-layer shape, next to what others would use. One run, one machine.

Needs the `bench` extra for TransformerLens. Everything trains on the same random tokens, in the
same batches; every row says how it was run.
"""

import time
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

from transformer_circuits.config import ModelConfig, TrainConfig
from transformer_circuits.model import Transformer
from transformer_circuits.training import optimizers

SHAPE = ModelConfig(
    n_layers=2, n_heads=8, d_model=256, d_head=32, n_vocab=4096, n_ctx=256, position_base=1000.0
)
PLAN = TrainConfig(
    seed=0,
    steps=1,
    batch=32,
    lr_embed=0.005,
    lr_attention=0.02,
    warmup_steps=1,
    decay_from=0.0,
    corpus="small",
)


class PlainStack(nn.Module):
    """What one writes in five minutes: nn.MultiheadAttention and residual connections."""

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


def transformer_lens(shape: ModelConfig) -> nn.Module:
    """TransformerLens' HookedTransformer of the same shape, without layer norm and MLPs."""
    from transformer_lens import HookedTransformer, HookedTransformerConfig

    config = HookedTransformerConfig(
        n_layers=shape.n_layers, d_model=shape.d_model, n_ctx=shape.n_ctx, d_head=shape.d_head,
        n_heads=shape.n_heads, d_vocab=shape.n_vocab, attn_only=True, normalization_type=None,
        positional_embedding_type="shortformer", seed=0,
    )  # fmt: skip
    return HookedTransformer(config)


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
        return F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    run: Callable[[], Tensor] = torch.compile(loss) if compiled else loss

    def step() -> None:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            value = run()
        value.backward()
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


def main() -> None:
    """Measure and print one row per implementation and way of running it."""
    makers = {
        "this book": lambda: Transformer(SHAPE),
        "plain nn.MultiheadAttention": lambda: PlainStack(SHAPE),
        "TransformerLens": lambda: transformer_lens(SHAPE),
    }
    print(
        "tokens per second, training, 2 layers of 8 heads x 32, n_vocab 4096, n_ctx 256, batch 32"
    )
    for name, make in makers.items():
        for bf16, compiled in ((False, False), (True, False), (True, True)):
            model = make()
            ours = isinstance(model, Transformer)
            optimizer = optimizers(model, PLAN) if ours else [torch.optim.AdamW(model.parameters())]
            how = f"{'bf16' if bf16 else 'fp32'}, {'compiled' if compiled else 'eager'}"
            try:
                print(
                    f"{name:28} {how:16} {speed(model, optimizer, bf16, compiled):10,.0f}",
                    flush=True,
                )
            except Exception as error:  # a peer that cannot run this way is a result too
                print(f"{name:28} {how:16} does not run: {type(error).__name__}", flush=True)
