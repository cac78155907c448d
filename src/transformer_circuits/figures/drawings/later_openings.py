"""What the chapters on training, on what is left out and on newer work open with; see `openings`."""

from transformer_circuits.figures.drawings import page
from transformer_circuits.figures.drawings.canvas import Canvas
from transformer_circuits.figures.drawings.openings import Box, arc, chain, panel, remarks, tokens
from transformer_circuits.figures.voice import SMALL, TALL, Name


def formation() -> page.Drawing:
    """Three things that a model comes to do: in which order, and does one wait for another?"""
    canvas = Canvas(TALL)
    canvas.text(0, 10, "Tokens seen", role="muted", size=SMALL)
    canvas.line([(0, 30), (TALL, 30)], "muted")
    stages: tuple[Box, ...] = (
        ("knows which token follows which", "direct"),
        ("a head that looks one back", "first"),
        ("a head that matches and copies", "second"),
    )
    for k, (words, role) in enumerate(stages):
        canvas.box(20 + 24 * k, 50 + 46 * k, 262, 34, [words], role=role)
    second = remarks(
        "Three questions",
        "Do they come in this order in every run?",
        "Is the last one sudden?",
        "Does the loss show it, and does one layer show it, too?",
    )
    alt = (
        "An axis of tokens seen, and below it three stages, each a little later than the one before: "
        "knowing which token follows which, a head that looks one back, a head that matches and "
        "copies. Beside it three questions about them."
    )
    return page.panels([canvas, second], "What a model learns, one thing after another?", alt)


def skip_trigrams_at_work() -> page.Drawing:
    """What the weights say, and what the text must bear out."""
    canvas = panel("What the weights say")
    x = tokens(
        canvas, 76, [("␣keep", "value"), ("…", "ink"), ("␣in", "query"), ("␣mind?", "second")]
    )
    arc(canvas, x[0], x[2], 72, 40, "query")
    canvas.note(0, 124, "If keep came before, in looks back at it, and mind is raised.", TALL)
    second = remarks(
        "What one then asks",
        "Does the text go on like this, more than by chance?",
        "What else must the head raise, right or wrong?",
        "What is left of it beside all the other tokens?",
    )
    alt = (
        "The tokens keep, some others, and in. From in an arc goes back to keep, and mind is expected "
        "next. Beside it, three questions: whether the text bears this out, what else the head must "
        "raise, and what is left of it in company."
    )
    return page.panels([canvas, second], "A skip-trigram is a claim about text", alt)


def who_reads_whom() -> page.Drawing:
    """Weights say how much could pass from head to head; cutting the edge says what it does."""
    each = []
    asked: tuple[tuple[str, str, Name, bool], ...] = (
        ("The weights: what could pass", "How much of what is written is read?", "value", False),
        ("The text: what happens without", "What becomes of the predictions?", "muted", True),
    )
    for title, question, role, gone in asked:
        canvas = panel(title)
        canvas.box(0, 44, 104, 40, ["earlier head"], role="first")
        canvas.box(226, 44, 110, 40, ["later head"], role="second")
        canvas.line([(108, 64), (222, 64)], role)
        if gone:
            canvas.line([(154, 46), (176, 82)], "ink", arrow=False)
            canvas.line([(176, 46), (154, 82)], "ink", arrow=False)
        canvas.note(0, 112, question, TALL)
        each.append(canvas)
    alt = (
        "Twice an earlier head, and an arrow to a later one. The first time the question is how much "
        "of what is written is read; the second time the arrow is crossed out, and the question is "
        "what becomes of the predictions."
    )
    return page.panels(each, "An edge between two heads, asked in two ways", alt)


def taken_away() -> page.Drawing:
    """A head is lost: what it wrote for values is gone, and what it wrote for keys may be."""
    each = []
    ways: tuple[tuple[str, str, str, Name], ...] = (
        (
            "Patterns free",
            "lost",
            "The later head looks elsewhere, and moves something else.",
            "muted",
        ),
        (
            "Patterns kept",
            "kept",
            "It looks where it looked. Only what it moves has changed.",
            "key",
        ),
    )
    for name, where, note, role in ways:
        canvas = panel(name)
        canvas.box(0, 52, 104, 40, ["taken away"], role="muted", dashed=True)
        canvas.box(226, 52, 110, 40, ["later head"], role="second")
        canvas.text(165, 38, f"where to look: {where}", role=role, size=SMALL, anchor="middle")
        canvas.line([(108, 62), (222, 62)], role)
        canvas.line([(108, 82), (222, 82)], "muted")
        canvas.text(165, 106, "what to move: lost", role="muted", size=SMALL, anchor="middle")
        canvas.note(0, 138, note, TALL)
        each.append(canvas)
    alt = (
        "Twice an earlier head is taken away, which a later head reads for where to look and for what "
        "to move. With free patterns the later head loses both. With kept patterns it looks where it "
        "looked, and only what it moves has changed."
    )
    return page.panels(each, "Two ways to lose a head", alt)


def left_out() -> page.Drawing:
    """A usual transformer: what this book has, and, dashed, what it leaves out."""
    canvas = panel("One layer of a usual transformer")
    steps = (
        ("layer norm", True, "divides by a number"),
        ("attention heads", False, "this book"),
        ("layer norm", True, ""),
        ("MLP", True, "most of the weights"),
    )
    for k, (name, missing, words) in enumerate(steps):
        y = 34 + 54 * k
        role: Name = "muted" if missing else "first"
        canvas.box(0, y, 160, 34, [name], role=role, dashed=missing)
        canvas.text(176, y + 17, words, role="muted", size=SMALL)
        if k + 1 < len(steps):
            canvas.line([(80, y + 36), (80, y + 54)], "muted")
    second = remarks(
        "What becomes of the framework",
        "Layer norm folds into the weights, up to one number that depends on the text.",
        "Through MLPs there are no paths to multiply out. What is left to say?",
        "A direction need not mean one thing, nor one head.",
    )
    alt = (
        "A layer from top to bottom: layer norm, attention heads, layer norm, MLP. Only the heads are "
        "drawn in full; the others are dashed, because the models of this book lack them. Beside it, "
        "three remarks on what that means for the framework."
    )
    return page.panels([canvas, second], "What a usual transformer has, and these models lack", alt)


def features() -> page.Drawing:
    """A score is a table: what wrote the query against what wrote the key."""
    canvas = panel("One score is the sum of a table")
    rows, columns = ("token", "head 0.0", "head 0.1"), ("token", "head 0.0", "head 0.1")
    for k, name in enumerate(columns):
        canvas.text(132 + 76 * k, 40, name, role="key", size=SMALL, anchor="middle")
    for i, name in enumerate(rows):
        canvas.text(88, 72 + 40 * i, name, role="query", size=SMALL, anchor="end")
        for k in range(3):
            named: Name = "key" if (i, k) == (0, 1) else "muted"
            canvas.box(98 + 76 * k, 56 + 40 * i, 68, 32, role=named)
    canvas.text(0, 190, "rows: wrote the query", role="query", size=SMALL)
    canvas.text(TALL, 190, "columns: wrote the key", role="key", size=SMALL, anchor="end")
    second = remarks(
        "So one can ask",
        "Which cell made the head look there?",
        "How few directions does it take?",
        "Can one tell from the weights which edge it hurts to cut?",
    )
    alt = (
        "A table of three by three cells: its rows are what wrote the query, its columns what wrote "
        "the key. All cells add up to one attention score; one of them is marked. Beside it, three "
        "questions that such a table answers."
    )
    return page.panels([canvas, second], "An attention score, taken apart", alt)


def over_text() -> page.Drawing:
    """Three kinds of match: exact, near, other."""
    each = []
    for name, before, now, role in (
        ("exact match", "␣two", "␣two", "second"),
        ("near match", "Two", "␣two", "key"),
        ("something other", "␣red", "␣two", "muted"),
    ):
        canvas = Canvas(216.0)
        canvas.text(108, 10, name, bold=True, anchor="middle")
        x = tokens(canvas, 66, [(before, role), ("next", "ink"), ("…", "ink"), (now, role)])
        arc(canvas, x[1], x[3], 62, 34, role)
        each.append(canvas)
    alt = (
        "Three times a head looks from the present token, two, back at a token. Before that token "
        "stands the same token (an exact match), the same word with a capital (a near match), or "
        "another word (something other)."
    )
    return page.panels(each, "What stands before the token that a head looks at", alt)


def two_runs() -> page.Drawing:
    """Two trainings that differ in one choice, and how far apart their heads form."""
    canvas = panel("Two trainings, one difference")
    for y, words, role, at in (
        (52.0, "as ever", "first", 270.0),
        (136.0, "one choice changed", "second", 200.0),
    ):
        canvas.text(20, y - 16, words, role=role, size=SMALL)
        canvas.line([(20, y), (TALL, y)], role)
        canvas.dot(at, y, role, 7.0)
    canvas.line([(270, 64), (270, 92)], "muted", thick=1.25, arrow=False)
    canvas.line([(270, 92), (200, 92)], "ink")
    canvas.line([(200, 98), (200, 124)], "muted", thick=1.25, arrow=False)
    canvas.text(278, 92, "sooner", size=SMALL)
    canvas.text(TALL, 164, "tokens seen", role="muted", size=SMALL, anchor="end")
    canvas.text(20, 164, "dot: a head matches", role="muted", size=SMALL)
    second = panel("Everything else is the same")
    chain(second, 42, [("weights", "direct"), ("text", "direct"), ("plan", "direct")], role="muted")
    second.note(
        0, 100, "The same first weights, the same windows in the same order, the same plan. What "
        "differs in the end came of the choice, if it is more than another seed makes.", TALL,
    )  # fmt: skip
    alt = (
        "Two lines, one above the other, each a training. A dot marks when a head first matches; in "
        "the training with one choice changed it lies further left, so sooner. Everything else, the "
        "first weights, the text and the plan, is the same."
    )
    return page.panels([canvas, second], "What one choice does to a training", alt)
