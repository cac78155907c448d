"""A skip-trigram bug: two right answers that cannot be raised without two wrong ones."""

from collections.abc import Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.words import cut
from transformer_circuits.figures.values import Numbers, array
from transformer_circuits.figures.voice import SMALL, TALL, Name


def skip_trigram_bug(
    source: str,
    destinations: Sequence[str],
    outs: Sequence[str],
    weights: Numbers,
    raised: Numbers,
    *,
    title: str = "What one head must raise together",
) -> page.Drawing:
    """The four skip-trigrams of one source, two destinations and two next tokens.

    The first destination goes with the first next token and the second with the second; the other
    two are the bugs. `weights`: [destination], attention each destination pays the source.
    `raised`: [out], what the source adds to the logit of each next token, fully looked at. Every
    cell is a weight times what is raised: a table of rank one.

    Raises:
        ValueError: if there are not two destinations, outs, weights and values.
    """
    where, what = array(weights), array(raised)
    if (len(destinations), len(outs), where.shape, what.shape) != (2, 2, (2,), (2,)):
        raise ValueError(
            f"{len(destinations)} destinations, {len(outs)} outs, weights {where.shape} and raised "
            f"{what.shape} given, but the table has two of each"
        )
    table = where[:, None] * what  # [destination, out]
    cells = [
        f'"{source} … {destinations[i]}{outs[j]}" {table[i, j]:+.2f} ({_says(i, j)})'
        for i in (0, 1)
        for j in (0, 1)
    ]
    alt = f"A table of two rows and two columns: {'; '.join(cells)}."
    notes = [
        (18, f"One head, one source: {source}. Rows are the token it is looked at from."),
        (70, "Above each column: what the source adds to that next token's logit (OV)."),
        (140, "Left of each row: how much this token looks at the source (QK)."),
        (214, "A cell is row times column, so the head cannot raise the two wanted cells and "
              "leave the others. One head has this bug; several heads together need not."),
    ]  # fmt: skip
    drawn = _table(source, destinations, outs, where, what, table)
    numbers = {"attention": where, "raised": what}
    return page.annotated(drawn, notes, title, alt, numbers=numbers)


def _says(i: int, j: int) -> str:
    return "wanted" if i == j else "bug"


def _table(source: str, destinations, outs, where, what, table) -> Canvas:
    canvas, left, top, wide, high = Canvas(TALL), 124.0, 108.0, 104.0, 74.0
    canvas.text(0, 18, "source", role="muted", size=SMALL)
    canvas.box(52, 4, 110, 28, [cut(f"{source} …", 106)], role="ink", mono=True)
    for j, out in enumerate(outs):
        x = left + j * (wide + 8)
        canvas.text(x + wide / 2, top - 46, cut(out, wide), anchor="middle", mono=True)
        canvas.text(
            x + wide / 2, top - 20, f"OV {what[j]:+.2f}", anchor="middle", role="value", bold=True
        )
    for i, destination in enumerate(destinations):
        y = top + i * (high + 8)
        canvas.text(0, y + high / 2 - 12, cut(destination, 112), mono=True)
        canvas.text(0, y + high / 2 + 12, f"QK {where[i]:.2f}", role="query", bold=True)
        for j in (0, 1):
            x = left + j * (wide + 8)
            role: Name = "key" if i == j else "second"
            mark = "✓ wanted" if i == j else "✗ bug"
            canvas.box(x, y, wide, high, [f"{table[i, j]:+.2f}", mark], role=role, dashed=i != j)
    return canvas
