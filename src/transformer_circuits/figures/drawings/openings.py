"""The picture that a chapter opens with: its idea before any number, so no data go in.

Each is made of panels that fit a phone. Those of chapters that open with a drawing of data are in
the other modules.
"""

from collections.abc import Sequence

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.words import width
from transformer_circuits.figures.voice import SMALL, TALL, Name, Px

Box = tuple[str, Name]
"""Words, and the role whose colour their box has."""


def chain(canvas: Canvas, y: Px, boxes: Sequence[Box], *, role: Name = "ink") -> list[Px]:
    """Boxes from left to right over the canvas's width with arrows between; returns their middles."""
    wide = [width(words) + 16 for words, _ in boxes]
    gap = (canvas.width - sum(wide)) / max(1, len(boxes) - 1)
    x, middles = 0.0, []
    for k, ((words, of), each) in enumerate(zip(boxes, wide, strict=True)):
        canvas.box(x, y, each, 30, [words], role=of)
        middles.append(x + each / 2)
        if k + 1 < len(boxes):
            canvas.line([(x + each + 2, y + 15), (x + each + gap - 2, y + 15)], role)
        x += each + gap
    return middles


def tokens(canvas: Canvas, y: Px, boxes: Sequence[Box]) -> list[Px]:
    """Tokens side by side, evenly over the canvas's width; returns their middles."""
    wide = canvas.width / len(boxes)
    for k, (words, role) in enumerate(boxes):
        canvas.box(k * wide + 2, y, wide - 4, 28, [words], role=role, mono=True)
    return [(k + 0.5) * wide for k in range(len(boxes))]


def arc(canvas: Canvas, left: Px, right: Px, y: Px, high: Px, role: Name) -> None:
    """A look from right to left, over what lies between."""
    canvas.look([(right, y), (right, y - high), (left, y - high), (left, y)], role)


def panel(title: str, role: Name = "ink") -> Canvas:
    """A canvas as wide as a phone, with its title."""
    canvas = Canvas(TALL)
    canvas.text(0, 10, title, role=role, bold=True)
    return canvas


def remarks(title: str, *each: str) -> Canvas:
    """A panel of remarks below each other."""
    canvas, y = panel(title), 42.0
    for words in each:
        y = canvas.note(0, y, f"• {words}", TALL) + 8
    return canvas


def notation() -> page.Drawing:
    """Every matrix maps a vector to a vector; attention moves vectors between positions."""
    first = panel("A matrix changes a vector")
    x = chain(first, 40, [("t", "ink"), ("W_E", "direct"), ("W_U", "direct"), ("logits", "ink")])
    first.text(x[0], 88, "a token", role="muted", size=SMALL)
    first.text(TALL, 88, "a number for every token", role="muted", size=SMALL, anchor="end")
    first.note(
        0,
        118,
        "Written W_U W_E t: what is done first stands on the right, next to the token.",
        TALL,
    )
    second = panel("Attention moves vectors")
    x = tokens(second, 76, [(word, "ink") for word in ("The", "king", "said", "no")])
    arc(second, x[1], x[3], 72, 36, "query")
    second.text(x[2], 30, "A: from where", role="query", anchor="middle", size=SMALL)
    second.note(
        0, 126, "A has one row for each place that looks and one column for each that is looked at. "
        "It moves whole vectors and leaves their inside alone.", TALL,
    )  # fmt: skip
    alt = (
        "Left: a token goes through W_E and W_U to the logits; the formula W_U W_E t is read from "
        "right to left. Right: four tokens in a row, and an arrow from the last to the second, which "
        "is what attention A does: it says from where a vector is moved."
    )
    return page.panels([first, second], "Matrices change vectors, attention moves them", alt)


def attention_heads() -> page.Drawing:
    """A head is a pattern, which says where, and one matrix, which says what."""
    first = panel("Where: the pattern A", "query")
    x = tokens(first, 80, [(word, "ink") for word in ("the", "king", "and", "the")])
    arc(first, x[1], x[3], 76, 50, "query")
    arc(first, x[2], x[3] - 14, 76, 24, "query")
    first.note(
        0, 130, "From each place, attention to itself and to those before it adds up to one.", TALL
    )
    second = panel("What: the matrix W_OV", "value")
    chain(
        second,
        46,
        [("vector there", "ink"), ("W_OV", "value"), ("added here", "ink")],
        role="value",
    )
    second.note(
        0, 106, "The same matrix at every place. It does not ask where the head looks, and the pattern "
        "does not ask what is moved.", TALL,
    )  # fmt: skip
    alt = (
        "Left: four tokens, and arrows from the last one to two earlier ones, which show where a head "
        "looks. Right: the vector at such a place goes through the matrix W_OV and is added to the "
        "stream at the place that looks."
    )
    return page.panels([first, second], "A head: one pattern says where, one matrix says what", alt)


def zero_layers() -> page.Drawing:
    """Without layers a model is one table: from the present token to the next."""
    first = panel("The whole model")
    chain(
        first, 46, [("token", "ink"), ("W_E", "direct"), ("W_U", "direct"), ("next token", "ink")]
    )
    first.note(
        0, 106, "Nothing is moved between places, so nothing but the present token counts.", TALL
    )
    second = panel("One column of the table W_U W_E")
    for k, (word, share) in enumerate((("mind", 1.0), ("to", 0.55), ("up", 0.4), ("…", 0.1))):
        second.text(66, 40 + 26 * k, word, mono=True, anchor="end")
        second.bar(74, 33 + 26 * k, 190 * share, 14, "direct")
    second.note(0, 150, "After keep: a score for every token that may come next. Is that the table of "
                "bigrams, of which token follows which?", TALL)  # fmt: skip
    alt = (
        "Left: a token goes through W_E and W_U to scores for the next token. Right: one column of "
        "that table as bars of different lengths, one for each token that may come next after keep. "
        "The lengths are made up."
    )
    return page.panels([first, second], "Without layers, a model is one table", alt)


def copying() -> page.Drawing:
    """Eigenvalues to the right copy, to the left erase, anywhere else turn one token into others."""
    kinds = (
        ("Copies", [0.9, 0.65, 0.65, 0.4], [0.0, 0.25, -0.25, 0.0]),
        ("Erases", [-0.9, -0.65, -0.65, -0.4], [0.0, 0.25, -0.25, 0.0]),
        ("Neither", [0.5, 0.5, -0.6, -0.6], [0.6, -0.6, 0.5, -0.5]),
    )
    each = []
    for name, real, imaginary in kinds:
        canvas = Canvas(200.0)
        canvas.text(100, 10, name, anchor="middle", bold=True)
        canvas.ring(100, 108, 78, "muted")
        canvas.line([(16, 108), (184, 108)], "muted", thick=1.25, arrow=False)
        for x, y in zip(real, imaginary, strict=True):
            canvas.dot(100 + 78 * x, 108 - 78 * y, "value")
        canvas.text(8, 200, "−", anchor="middle", role="muted")
        canvas.text(192, 200, "+", anchor="middle", role="muted")
        canvas.text(100, 200, "real part", anchor="middle", role="muted", size=SMALL)
        each.append(canvas)
    alt = (
        "Three circles with the eigenvalues of a head's OV circuit as dots: all in the right half for "
        "a head that copies, all in the left half for one that erases, and on both sides for one that "
        "does neither. The dots are made up."
    )
    return page.panels(each, "What eigenvalues say about copying", alt)


def every_head() -> page.Drawing:
    """Where a head looks, against what it moves: the paper fills two of the four cells."""
    canvas = panel("Two questions about a head")
    for k, name in enumerate(("copies", "does not copy")):
        canvas.text(146 + 126 * k, 38, name, role="value", size=SMALL, anchor="middle")
    cells = (("looks near", "?", "positional"), ("looks anywhere", "copying", "?"))
    for i, (name, *inside) in enumerate(cells):
        for k, word in enumerate(inside):
            role: Name = "muted" if word == "?" else "value"
            canvas.box(86 + 126 * k, 52 + 54 * i, 118, 44, [word], role=role, dashed=word == "?")
        for line, word in enumerate(name.split()):
            canvas.text(76, 66 + 54 * i + 17 * line, word, role="query", size=SMALL, anchor="end")
    second = remarks(
        "So one can ask",
        "In which cell does each of our heads stand?",
        "What use is a head that looks near and does not copy?",
        "Does a look always move something?",
    )
    alt = (
        "A table of four cells: a head looks near or anywhere, and it copies or does not. The paper "
        "names heads that look anywhere and copy, and positional heads, which look near and do not. "
        "Beside it, three questions."
    )
    return page.panels([canvas, second], "Where a head looks, and what it moves", alt)


def induction() -> page.Drawing:
    """A B … A, and the head finds the place after the earlier A."""
    first = panel("Once")
    x = tokens(first, 76, [(word, "ink") for word in ("…", "A", "B", "…")])
    first.text(x[1], 126, "B came after A", role="muted", size=SMALL, anchor="middle")
    second = panel("And again")
    row: list[Box] = [("A", "key"), ("B", "value"), ("…", "ink"), ("A", "query"), ("B?", "value")]
    x = tokens(second, 76, row)
    arc(second, x[1], x[3], 72, 44, "query")
    second.text(
        (x[1] + x[3]) / 2, 28, "looks at what came next", role="query", anchor="middle", size=SMALL
    )
    second.note(0, 126, "and predicts it. Nothing has to be known of A or of B, so it works for any two "
                "tokens.", TALL)  # fmt: skip
    alt = (
        "Left: the tokens A and B in a row. Right: the same pair, and later another A. An arrow goes "
        "from it back to the B after the earlier A, and B is predicted."
    )
    return page.panels([first, second], "A pair of tokens comes back", alt)


def hand_built() -> page.Drawing:
    """Blocks of the stream, and the two heads that carry between them, on the text A B C A."""
    first = _places("Head 0.0: what came before me?", ("at A", "A", "", ""), ("at B", "B", "A", ""))
    first.line([(146, 74), (194, 114)], "value")
    second = _places(
        "Head 1.0: who came after me?", ("at B", "B", "A", ""), ("at A", "A", "C", "B")
    )
    second.look([(194, 74), (146, 118)], "query")
    second.line([(146, 74), (194, 158)], "value")
    words = "Dotted: the same token, so it looks there. Solid: what is copied. Every weight is set by hand."
    second.note(0, 208, words, TALL)
    alt = (
        "Blocks of the residual stream, token, previous and output, on the text A B C A. Head 0.0 "
        "copies the token at A into the block previous at B. Head 1.0, at the last A, finds the place "
        "whose previous is A, which is B, and copies its token into the output."
    )
    return page.panels([first, second], "A circuit that was never trained, on A B C A", alt)


def _places(title: str, *places: tuple[str, ...]) -> Canvas:
    """Two places side by side: the name of each, and what its three blocks hold."""
    canvas = panel(title)
    for x, (name, *held) in zip((0.0, 196.0), places, strict=True):
        canvas.text(x + 72, 40, name, role="muted", size=SMALL, anchor="middle")
        for k, (block, token) in enumerate(zip(("token", "previous", "output"), held, strict=True)):
            words = f"{block}: {token}" if token else f"{block}: –"
            canvas.box(x, 56 + 44 * k, 144, 36, [words], role="direct")
    return canvas
