"""Drawings of what is connected with what. As in `plots`: arrays and labels, never a model."""

from collections.abc import Mapping, Sequence

from transformer_circuits.drawing import COLOURS, Figure, Numbers, array, draw_figure


def links(
    panels: Mapping[str, Numbers],
    *,
    earlier: Sequence[str],
    later: Sequence[str],
    title: str,
    alt: str,
) -> Figure:
    """Two columns of dots per panel, joined by lines that are the darker the larger the value.

    `panels`: named matrices [later, earlier]. The darkest line is the largest value of all panels;
    values of 0 or less draw none. Earlier dots stand to the left.

    Raises:
        ValueError: if a panel has not one row per later and one column per earlier name.
    """
    values = {name: array(panel) for name, panel in panels.items()}
    for name, panel in values.items():
        if panel.shape != (len(later), len(earlier)):
            raise ValueError(
                f'panel "{name}" is {panel.shape} but there are {len(later)} later '
                f"and {len(earlier)} earlier names"
            )
    most = max(panel.max() for panel in values.values())

    def paint(figure):
        for axes, (name, panel) in zip(
            figure.subplots(1, len(values), squeeze=False)[0], values.items(), strict=True
        ):
            for (j, i), value in sorted(_entries(panel), key=lambda entry: entry[1]):
                if value > 0:
                    axes.plot([0, 1], [i, j], color=COLOURS[0], alpha=value / most, lw=2)
            for x, names, side in ((0, earlier, "right"), (1, later, "left")):
                axes.scatter([x] * len(names), range(len(names)), s=14, color="#333", zorder=3)
                for i, label in enumerate(names):
                    axes.text(x + 0.08 * (2 * x - 1), i, label, ha=side, va="center", fontsize=8)
            axes.set_title(name, fontsize=10)
            axes.set(xlim=(-0.45, 1.45), ylim=(max(len(earlier), len(later)) - 0.5, -0.5))
            axes.axis("off")

    return draw_figure(paint, title, alt, (6.5, 1.0 + 0.26 * max(len(earlier), len(later))))


def _entries(panel):
    return [((j, i), panel[j, i]) for j in range(panel.shape[0]) for i in range(panel.shape[1])]
