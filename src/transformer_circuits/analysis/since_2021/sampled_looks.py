"""Random looks of one head from every tenth of their attention, with the text around them, and what
the head is worth there (after HeadVis 2026, as `over_text`)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transformer_circuits.analysis import ablation, heads
from transformer_circuits.analysis.since_2021.over_text import KINDS, Looks
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.text import tokenizer


@torch.no_grad()
def samples(
    model: Transformer,
    looks: Looks,
    inputs: Int[Tensor, "window pos"],
    targets: Int[Tensor, "window pos"],
    head: tuple[int, int],
    *,
    each: int = 5,
    width: int = 9,
    generator: torch.Generator,
) -> dict[int, list[dict]]:
    """`each` places of every tenth, drawn at random, as passages for `views.samples`, by tenth.

    `looks`: those of the `head` over `inputs`. A passage shows the source with `width` tokens before
    it and one after, and the place that looks with as many before it. Its facts: attention, kind of
    match, what really comes next, the probability of that, and the same if the head writes nothing
    (0 to 1). A tenth with fewer than `each` places gives all it has.

    Raises:
        ValueError: if there is no such head, the model has MLPs, or a window opens without BEGIN.
    """
    model.require_attention_only()
    if (n_without := int((inputs[:, 0] != tokenizer.BEGIN).sum())) > 0:
        raise ValueError(f"{n_without} of {len(inputs)} windows do not open with BEGIN, all must")
    decile, less = looks.deciles(), ablation.without(model, [head])
    found: dict[int, list[dict]] = {tenth: [] for tenth in range(1, 11)}
    for tenth, passages in found.items():
        there = (decile == tenth).nonzero()[:, 0]
        for place in there[torch.randperm(len(there), generator=generator)[:each]].tolist():
            window, src, dst = (int(of[place]) for of in (looks.window, looks.src, looks.dst))
            text, following = inputs[window, : dst + 1], targets[window, dst]
            chances = _next([model, less], text, heads.Head(*head).layer)[:, following]
            facts = {
                "attention": float(looks.attention[place]),
                "match": KINDS[int(looks.kind[place])],
                "comes next": f"“{tokenizer.labels(following[None])[0]}”",
            }
            facts |= zip(("probability", "without the head"), chances.tolist(), strict=True)
            passages.append(_around(text, src, width) | {"facts": facts})
    return found


def _next(
    models: list[Transformer], text: Int[Tensor, " pos"], layer: int
) -> Float[Tensor, "model n_vocab"]:
    """Probabilities of what follows a text, for models that do not differ before a layer."""
    x, W_P = models[0].embed(text[None])
    for earlier in models[0].layers[:layer]:
        x = x + earlier(x, W_P)
    rows = []
    for model in models:
        y = x
        for later in model.layers[layer:]:
            y = y + later(y, W_P)
        rows.append(model.W_U @ y[0, -1])  # of the last place alone: a forward pass gives all
    return torch.stack(rows).softmax(dim=1)


def _around(text: Int[Tensor, " pos"], src: int, width: int) -> dict:
    """Tokens around a source and up to the last one, which are marked, where some are left out."""
    dst = len(text) - 1
    around = {*range(src - width, src + 2), *range(dst - width, dst + 1)}
    places = sorted(around & {*range(dst + 1)})
    marks = {"before it": src - 1, "looked at": src, "present": dst}
    return {
        "tokens": tokenizer.labels(text[places]),
        "marks": {name: places.index(place) for name, place in marks.items()},
        "gaps": [k for k in range(1, len(places)) if places[k] > places[k - 1] + 1],
    }
