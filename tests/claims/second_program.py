"""A second program that reads a card, by its schema alone, and computes lines of it again, in NumPy alone.

python second_program.py card.json weights.npz config.json

The weights have TransformerLens's names, as `forms` has them, whose forward pass is in NumPy, too.
"""

import json
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "interop"))
import forms


def number(head):
    return tuple(map(int, head.split(".")))


def matching(A, tokens, begin):
    """Attention [n, dst, src] to what followed earlier occurrences of the present token."""
    found = []
    for pattern, row in zip(A, tokens, strict=True):
        for dst in range(begin, len(row)):
            after = [src for src in range(begin + 1, dst) if row[src - 1] == row[dst]]
            found += [pattern[dst, after].sum()] if after else []
    return np.mean(found)


def recomputed(card, w, c):
    """What the card says and what comes out here, for three lines: matching, right first, an edge."""
    begin = int(card["model"]["shape"]["begin"])
    lines = {}
    edge = card["edges"][0]
    head, source = edge["later"], edge["earlier"]
    for row, group in zip(card["by length"], card["tokens"]["by length"], strict=True):
        tokens, kept = np.array(group), {}
        logits = forms.forward(w, c, tokens[:, :-1], keep=kept)[:, row["length"] + begin :]
        right = logits.argmax(-1) == tokens[:, row["length"] + begin + 1 :]
        found = matching(kept[number(head)][0], tokens[:, :-1], begin)
        lines[f"{head} at {row['length']}"] = row[head], found
        lines[f"right first at {row['length']}"] = row["right first"], right.mean()
    tokens = np.array(card["tokens"]["heads"][1][:2])
    second = (tokens.shape[1] - begin) // 2 + begin

    def loss(**cut):
        each = forms.losses(forms.forward(w, c, tokens, **cut)[:, :-1], tokens[:, 1:])
        return each[:, second:].mean()

    cut = edge["kind"], number(head), number(source)
    lines[f"{edge['kind']} {source} to {head}"] = edge["nats"], loss(unread=[cut]) - loss()
    return lines


if __name__ == "__main__":
    said, config = (json.loads(Path(path).read_text()) for path in (sys.argv[1], sys.argv[3]))
    assert "torch" not in sys.modules
    print(json.dumps(recomputed(said, dict(np.load(sys.argv[2])), config)))
