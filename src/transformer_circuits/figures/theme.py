"""The visual theme of the book's figures: colours, type and lines, in one place.

======  =======================================  =======  =====  =======  =====  ======
role    means                                    light    ratio  dark     ratio  line
======  =======================================  =======  =====  =======  =====  ======
ink     words, tokens                            #1c2430  15.62  #e8ecf1  15.79  solid
muted   what is there but not the point; notes   #5c6470   5.98  #aab2bd   8.75  solid
direct  embedding, direct path, residual stream  #5b6470   6.00  #b3bcc8   9.76  solid
first   the first layer (layer 0)                #0068a8   5.92  #63b8f2   8.63  solid
second  the second layer (layer 1)               #b84300   5.47  #ff9a5c   8.95  solid
query   queries: what a destination asks         #8a3fa0   6.37  #d9a0ee   9.11  dotted
key     keys: what a source answers to           #00704f   6.12  #3fcf9f   9.49  dashed
value   values, OV circuits: what is moved       #86590a   6.09  #f0bf4c  10.94  solid
curve   one of several, with ink and grey        #9c1f63   7.53  #f294c1   8.73  solid
======  =======================================  =======  =====  =======  =====  ======

Ratios are WCAG contrasts with the page, white or #121212; a test holds this table. Colour never
stands alone: every coloured thing is named where it is, and query, key and value differ in their
lines, too. Attention has the colour of the layer of its head, stronger for more of it.

No colour has two meanings. Things other than layers, queries, keys and values are ink, grey or
`curve`, in the order of `CURVES`, with other lines and marks. Seeds are one colour in several
lines. Values above and below the middle of a scale are `MORE` and `LESS`, a token's probability is
`LIKELY`, and a verdict is ink, told by shape. Grey alone has two, the residual stream and side
matters, whose lines differ.

A look is a dotted line from destination to a dot at the source; a moved vector goes on a solid
arrow from source to destination. Words in boxes are ink, on a tint of the box's colour. A figure
has no ground of its own: it lies on the page, and its colours are variables that follow the page's
theme. Scripts and styles of pages repeat the colours that they use;
`tests/figures/test_drawings.py` holds them to these.

Type is the page's own, 14 px and for notes 13 px, tokens in its monospaced face. A drawing for a
phone is 340 px wide and is shown at about that width, so that no word is below 12 px. Lines are 2
px, secondary ones 1.25 px, and the residual stream is 8 px wide.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

Name = Literal["ink", "muted", "direct", "first", "second", "query", "key", "value", "curve"]
Theme = Literal["light", "dark"]
Px = float | int
"""Place or length in pixels."""


@dataclass(frozen=True)
class Role:
    """Look of one kind of thing wherever it is drawn."""

    light: str
    """Colour on a light page, `#rrggbb`."""
    dark: str
    """Colour on a dark page."""
    dash: str = ""
    """Value of SVG's stroke-dasharray; empty for a solid line."""


ROLES: dict[Name, Role] = {
    "ink": Role("#1c2430", "#e8ecf1"),
    "muted": Role("#5c6470", "#aab2bd"),
    "direct": Role("#5b6470", "#b3bcc8"),
    "first": Role("#0068a8", "#63b8f2"),
    "second": Role("#b84300", "#ff9a5c"),
    "query": Role("#8a3fa0", "#d9a0ee", "2 4"),
    "key": Role("#00704f", "#3fcf9f", "8 4"),
    "value": Role("#86590a", "#f0bf4c"),
    "curve": Role("#9c1f63", "#f294c1"),
}
LAYERS: tuple[Name, Name] = ("first", "second")
"""Roles of layers 0 and 1."""
EDGES: dict[str, Name] = {"Q": "query", "K": "key", "V": "value"}
"""Role of the input that an edge between heads leads into."""
CURVES: tuple[Name, ...] = ("ink", "curve", "muted")
"""Roles of curves and bars that are told apart, in their order."""
GROUND: dict[Theme, str] = {"light": "#ffffff", "dark": "#121212"}
"""Page behind a figure; nothing is painted there."""
LESS = Role("#007a87", "#4cc9d8")
"""Colour below the middle of a scale."""
MORE = Role("#b0123f", "#ff8080")
"""Colour above the middle of a scale."""
SIGNS = {"less": LESS, "more": MORE}
LIKELY = Role("#e69f00", "#e69f00")
"""Colour of a token's probability: amber, the stronger the likelier."""
TINT = 0.12
"""Opacity of a box's fill."""
TEXT, SMALL = 14.0, 13.0
"""Sizes of type in pixels."""
LINE, THIN, STREAM = 2.0, 1.25, 8.0
"""Widths of lines in pixels."""
WIDE, TALL = 720, 340
"""Widths of the two layouts in pixels."""
BREAK = 640
"""Width below which columns show the layout for phones; scripts and styles repeat it. [pixels]"""
SANS = (
    "'Source Sans 3', 'Words until then', system-ui, -apple-system, 'Segoe UI', Roboto, "
    "'DejaVu Sans', sans-serif"
)
MONO = (
    "'JetBrains Mono', 'Tokens until then', ui-monospace, SFMono-Regular, Menlo, Consolas, "
    "'DejaVu Sans Mono', monospace"
)
"""Faces for words and for tokens: those that the book serves (`_static/type.css`), then others."""

_DARK = ('html[data-theme="dark"]', 'body[data-jp-theme-light="false"]', "body.vscode-dark")
"""Selectors of a dark page in the book, JupyterLab and VS Code."""


def of_head(name: str) -> Role | None:
    """Role of a head's layer or of an edge's target, by the name that begins with the head or edge.

    None for any other name, and for an edge without its kind.

    >>> of_head("head 1.2") == of_head("two layers 1.0") == of_head("1.4: search") == ROLES["second"]
    True
    >>> of_head("K 0.1 → 1.4") == ROLES["key"], of_head("0.1 → 1.4"), of_head("1.5e3")
    (True, None, None)
    """
    role = role_of_head(name)
    return role and ROLES[role]


def role_of_head(name: str) -> Name | None:
    """Name of the role that `of_head` finds.

    >>> role_of_head("head 1.2"), role_of_head("K 0.1 → 1.4"), role_of_head("king")
    ('second', 'key', None)
    """
    if edge := re.fullmatch(r"([QKV]) [01]\.\d+ → [01]\.\d+", name):
        return EDGES[edge[1]]
    head = re.fullmatch(r"(?:head |one layer |two layers )?([01])\.\d+(?:[: ][^→]+)?", name)
    return LAYERS[int(head[1])] if head else None


def on_dark(selector: str) -> str:
    """CSS selector of the same elements on a dark page."""
    return ", ".join(f"{page} {selector}" for page in _DARK)


def style(css_class: str, roles: Mapping[str, Role] = ROLES) -> str:
    """CSS for elements of a class: the colours as variables, light and dark, and the type."""
    light, dark = (
        "".join(f"--{name}:{getattr(role, theme)};" for name, role in roles.items())
        for theme in ("light", "dark")
    )
    return (
        f".{css_class}{{--on:{GROUND['light']};{light}font-family:{SANS}}}"
        f"{on_dark(f'.{css_class}')}{{--on:{GROUND['dark']};{dark}}}.{css_class} .mono{{font-family:{MONO}}}"
    )


def darkening() -> str:
    """Values of an SVG feColorMatrix that takes the light colours of heat maps to the dark ones.

    Exactly for `SIGNS` and the layers, and in proportion between them.
    """
    mapped = [*SIGNS.values(), *(ROLES[name] for name in LAYERS)]
    parts = [
        [int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)] for r in mapped for c in (r.light, r.dark)
    ]
    light, dark = np.array(parts[::2]), np.array(parts[1::2])
    by = np.linalg.solve(np.column_stack([light, np.ones(len(mapped))]), dark).T
    rows = [f"{r:.4f} {g:.4f} {b:.4f} 0 {offset:.4f}" for r, g, b, offset in by]
    return " ".join([*rows, "0 0 0 1 0"])


def themed(text: str) -> str:
    """SVG text in which each light colour `#rrggbb` of `ROLES` and `SIGNS` is `var(--role,#rrggbb)`.

    The page's theme sets the variables; a file by itself sets none, and shows the light colour.

    >>> themed("stroke: #1c2430")
    'stroke: var(--ink,#1c2430)'
    """
    role_of_colour = {role.light: name for name, role in (ROLES | SIGNS).items()}

    def variable(colour: re.Match) -> str:
        name = role_of_colour.get(colour[0].lower())
        return f"var(--{name},{colour[0].lower()})" if name else colour[0]

    return re.sub(r"#[0-9a-fA-F]{6}\b", variable, text)
