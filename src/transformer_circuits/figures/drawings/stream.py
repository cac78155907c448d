"""The residual stream as a channel that everything reads and adds to."""

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.words import cut
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.voice import SMALL, STREAM, TALL, Name, Px

LAYERS: tuple[Name, Name] = ("first", "second")
"""The roles of layers 0 and 1."""
_X = 66.0
"""Where the stream runs."""


def residual_stream(
    token: str,
    lengths: Numbers,
    *,
    title: str = "One channel, which every layer reads and adds to",
) -> page.Drawing:
    """The stream at one token: what reads it, what writes to it, and how much.

    `lengths`: [1 + n_layers], the norms of what the embedding and each layer wrote at this token.

    Raises:
        ValueError: if there are not two or three lengths, or one is negative.
    """
    wrote = array(lengths)
    if wrote.ndim != 1 or not 2 <= len(wrote) <= 3 or wrote.min() < 0:
        raise ValueError(
            f"lengths is {wrote.tolist()} but must be [1 + n_layers], not negative, of 1 or 2 layers"
        )
    canvas, n_layers = Canvas(TALL), len(wrote) - 1
    canvas.box(_X - 50, 4, 100, 30, [cut(token, 96)], role="ink", mono=True)
    canvas.line([(_X, 36), (_X, 62)], "direct")
    canvas.box(_X - 30, 62, 60, 32, ["W_E"], role="direct")
    _length(canvas, 126, 78, wrote, 0, "direct")
    bottom = 136 + 116 * n_layers
    canvas.line([(_X, 96), (_X, bottom)], "direct", thick=STREAM)
    for layer in range(n_layers):
        _layer(canvas, 128 + 116 * layer, layer, wrote)
    canvas.box(_X - 30, bottom, 60, 32, ["W_U"], role="direct")
    canvas.line([(_X, bottom + 34), (_X, bottom + 58)], "direct")
    canvas.box(_X - 50, bottom + 58, 100, 30, ["logits"], role="ink")
    notes = [
        (20, "A token comes in."),
        (78, "The embedding W_E turns it into a vector, the first thing on the channel."),
    ]
    for layer in range(n_layers):
        words = (
            "Each head reads the whole channel, by a linear map, and adds what it found. "
            "Nothing is overwritten."
            if layer == 0
            else "A later layer reads the sum: the embedding and all that earlier heads wrote."
        )
        notes.append((146 + 116 * layer, words))
    notes.append((bottom + 16, "The unembedding W_U reads the sum of everything written."))
    alt = (
        f'A line runs from the token "{token}" by way of W_E to W_U and the logits. Every layer has an '
        "arrow that reads from the line and one that adds to it. Lengths written: embedding "
        + ", ".join(
            f"{'' if i == 0 else f'layer {i - 1} '}{length:.1f}" for i, length in enumerate(wrote)
        )
        + "."
    )
    return page.annotated(canvas, notes, title, alt, numbers={"lengths": wrote})


def _layer(canvas: Canvas, top: Px, layer: int, wrote) -> None:
    """A layer beside the stream, with what it reads above and what it adds below."""
    role, left = LAYERS[layer], 168.0
    canvas.box(left, top, TALL - left - 4, 88, role=role)
    canvas.text(left + 12, top + 22, f"heads of layer {layer}", bold=True)
    canvas.line([(_X + STREAM / 2, top + 22), (left - 2, top + 22)], role)
    canvas.text((_X + left) / 2, top + 9, "read", role=role, anchor="middle", size=SMALL)
    canvas.line([(left - 2, top + 66), (_X + 14, top + 66)], role)
    canvas.dot(_X, top + 66, role, 10)
    canvas.parts.append(
        f'<path d="M{_X - 5:g} {top + 66:g}h10m-5 -5v10" stroke-width="2" '
        f'style="stroke:var(--on)"/>'
    )
    canvas.text((_X + left) / 2 + 6, top + 53, "add", role=role, anchor="middle", size=SMALL)
    _length(canvas, left + 12, top + 60, wrote, layer + 1, role)


def _length(canvas: Canvas, x: Px, y: Px, wrote, index: int, role: Name) -> None:
    """The length of what was written as a number and a bar; the longest bar is 140 px."""
    share = wrote[index] / wrote.max() if wrote.max() else 0.0
    canvas.text(x, y - 8, f"writes length {wrote[index]:.1f}", size=SMALL)
    canvas.bar(x, y + 4, 140 * share, 8, role)
