"""A line of code that names a model, says what is done to it, and lets it read: the state of the stage.

>>> reading = two_layers.without("0.2").read("The old king Valdemar spoke; we heard Valdemar", at="V")
>>> print(reading.code)
two_layers.without("0.2").read("The old king Valdemar spoke; we heard Valdemar", at="V")
>>> reading.state["off"], reading.pieces
(['0.2'], ['al', 'd', 'em', 'ar'])
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.analysis import heads
from transformer_circuits.model.trace import Trace
from transformer_circuits.model.transformer import Transformer
from transformer_circuits.stage import forward, names
from transformer_circuits.text import tokenizer
from transformer_circuits.training import checkpoint

FOLDERS = {"two_layers": "two-layer", "one_layer": "one-layer", "zero_layers": "zero-layer"}
"""The models by the words of the line of code, with their folders in `data/models/`."""
READINGS = {"queries": "Q", "keys": "K", "values": "V"}
"""Inputs of a head by their names in the line of code, with the paper's letters."""
LISTED = 8
"""Number of likeliest next tokens in a result."""


@dataclass(frozen=True)
class Cut:
    """An edge that carries nothing: `of` does not read what `source` wrote with one of `READINGS`."""

    source: str
    into: str
    of: str


@dataclass(frozen=True)
class _Line:
    """The line of code, up to where the model reads."""

    model: str
    of_seed: int = 0
    step: int | None = None
    """Step of the training; None is its end."""
    off: tuple[str, ...] = ()
    cuts: tuple[Cut, ...] = ()

    @property
    def folder(self) -> str:
        name = FOLDERS[self.model]
        return checkpoint.of_seed(name, self.of_seed) if self.of_seed else name

    @property
    def heads(self) -> list[str]:
        """The names of the model's heads."""
        config, _ = checkpoint.settings(self.folder)
        return [f"{layer}.{k}" for layer in range(config.n_layers) for k in range(config.n_heads)]

    def require(self, head: str) -> None:
        if head not in self.heads:
            raise ValueError(f"{self.model} has no head {head!r}; it has {self.heads or 'none'}")

    def __str__(self) -> str:
        said = self.model
        if self.of_seed:
            said += f".seed({self.of_seed})"
        if self.step is not None:
            said += f".after({self.step})"
        if self.off:
            said += f".without({', '.join(map(_quoted, self.off))})"
        for cut in self.cuts:
            said += f'.cut("{cut.source}", into="{cut.into}", of="{cut.of}")'
        return said


def _quoted(text: str) -> str:
    return files.as_json(text, ensure_ascii=False)


_Same = TypeVar("_Same", bound="_Verbs")


class _Verbs:
    """Verbs: all that can be done to a model, in any order; each gives another one and changes nothing."""

    line: _Line

    def _with(self: _Same, **changed: Any) -> _Same:
        return replace(self, line=replace(self.line, **changed))

    def without(self: _Same, *heads: str) -> _Same:
        """The model in which heads, "layer.head", write nothing; see `forward.trace`.

        Raises:
            ValueError: if no head is named, or one that the model does not have.
        """
        if not heads:
            raise ValueError('without names one head at least: without("0.2")')
        for head in heads:
            self.line.require(head)
        off = {*self.line.off, *heads}
        return self._with(off=tuple(head for head in self.line.heads if head in off))

    def cut(self: _Same, head: str, into: str, of: str) -> _Same:
        """The model in which one reading of a later head, `of`, misses what an earlier head wrote.

        `into`: one of `READINGS`. Several edges are several cuts.

        Raises:
            ValueError: if there is no such edge.
        """
        for name in (head, of):
            self.line.require(name)
        if into not in READINGS:
            raise ValueError(f"into is {into!r} but must be one of {[*READINGS]}")
        if head.split(".")[0] >= of.split(".")[0]:
            raise ValueError(f"head {of} reads nothing of {head}, which is in no earlier layer")
        cuts = dict.fromkeys((*self.line.cuts, Cut(head, into, of)))
        return self._with(cuts=tuple(cuts))

    def seed(self: _Same, seed: int) -> _Same:
        """The model that differs in the seed of its training alone; 0 is the one of the book.

        Raises:
            ValueError: if there is none of this seed.
        """
        there = range(len(checkpoint.seeds(FOLDERS[self.line.model])))
        if type(seed) is not int or seed not in there:
            raise ValueError(f"seed is {seed!r} but must be one of {[*there]}")
        return replace(self, line=_checked(replace(self.line, of_seed=seed)))

    def after(self: _Same, step: int) -> _Same:
        """The model as it was after so many steps of its training.

        Raises:
            ValueError: if its weights of that moment were not kept.
        """
        if type(step) is not int:
            raise ValueError(f"after is {step!r} but must be a whole number of steps")
        return replace(self, line=_checked(replace(self.line, step=step)))


def _checked(line: _Line) -> _Line:
    """A line whose model of this seed was kept at this moment of its training."""
    kept = checkpoint.steps(checkpoint.folder(line.folder))
    if line.step is not None and line.step not in kept:
        of = f" of seed {line.of_seed}" if line.of_seed else ""
        there = (
            f"were kept: {kept}; the end is the model without after" if kept else "none was kept"
        )
        raise ValueError(f"after is {line.step} but of the moments of {line.model}{of} {there}")
    return line


@dataclass(frozen=True)
class Model(_Verbs):
    """A model of the book, with what is done to it."""

    line: _Line

    def read(self, text: str, at: str | int | None = None) -> "Reading":
        """The reading of a line of text; the rest as for `Reading`."""
        return Reading(self.line, text, at)

    def __repr__(self) -> str:
        return str(self.line)


two_layers, one_layer, zero_layers = (Model(_Line(name)) for name in FOLDERS)


@cache
def loaded(folder: str, step: int | None = None) -> Transformer:
    """A model of the book, read once."""
    return checkpoint.load(folder, step=step)


@dataclass(frozen=True)
class Reading(_Verbs):
    """A model's reading of a line of text: its tokens, looks and probabilities.

    `at`: the place looked from: a piece, the last token with this label (a space before it is not
    written), or a number, of which 0 is the token that opens the line. If it is None, it is where the
    name begins that comes again (`names.again`), else the last token.

    Raises:
        ValueError: if `text` is no string, or longer than the model's context; and, as soon as the
            place is asked for, if there is no such place.
    """

    line: _Line
    text: str
    given_at: str | int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise ValueError(f"text is {self.text!r} but must be a string")
        config, _ = checkpoint.settings(self.line.folder)
        if (n := len(self.tokens)) > config.n_ctx:
            raise ValueError(f"the line has {n} tokens but {self.line.model} reads {config.n_ctx}")

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> "Reading":
        """The reading of a `state`."""
        model = Model(_Line(state["model"])).seed(state["seed"])
        if state["after"] is not None:
            model = model.after(state["after"])
        if state["off"]:
            model = model.without(*state["off"])
        for cut in state["cuts"]:
            model = model.cut(cut["from"], into=cut["into"], of=cut["of"])
        return model.read(state["text"], state["at"])

    def read(self, text: str, at: str | int | None = None) -> "Reading":
        """The same model's reading of another line."""
        return Reading(self.line, text, at)

    @property
    def code(self) -> str:
        """The line of code, as the stage of a page writes it."""
        at = self.given_at
        said = "" if at is None else f", at={_quoted(at) if isinstance(at, str) else at}"
        return f"{self.line}.read({_quoted(self.text)}{said})"

    @property
    def state(self) -> dict[str, Any]:
        """State of the stage, the same as JSON has it."""
        line = self.line
        return {
            "model": line.model,
            "seed": line.of_seed,
            "after": line.step,
            "off": [*line.off],
            "cuts": [{"from": cut.source, "into": cut.into, "of": cut.of} for cut in line.cuts],
            "text": self.text,
            "at": self.given_at,
        }

    @cached_property
    def ids(self) -> list[int]:
        """The tokens, as the model has them."""
        return tokenizer.context(self.text)[0].tolist()

    @cached_property
    def tokens(self) -> list[str]:
        """Labels of the tokens, of which the first is `names.BEGIN`; a space is ␣."""
        labels = tokenizer.labels(torch.tensor(self.ids))
        return [names.BEGIN if label == "<begin>" else label for label in labels]

    @cached_property
    def name(self) -> range:
        """The places of the name that comes again; empty if none does."""
        found = names.again(self.ids, self.tokens)
        return range(found[0], found[1]) if found else range(0)

    @cached_property
    def first(self) -> int:
        """Place where the name began the first time; -1 if none comes again."""
        found = names.again(self.ids, self.tokens)
        return found[2] if found else -1

    @cached_property
    def at(self) -> int:
        """The place looked from."""
        if self.given_at is None:
            return self.name.start if self.name else len(self.ids) - 1
        return self.place(self.given_at)

    def place(self, asked: str | int) -> int:
        """The last place with this label, with or without its space, or the place of this number.

        Raises:
            ValueError: if there is none.
        """
        if isinstance(asked, str):
            labels = (asked, asked.replace(" ", "␣"))
            same = [k for k, t in enumerate(self.tokens) if names.bare(t) == asked or t in labels]
            if same:
                return same[-1]
            raise ValueError(f"at is {asked!r} but the tokens of the line are {self.tokens}")
        if type(asked) is int and 0 <= asked < len(self.ids):
            return asked
        raise ValueError(f"at is {asked!r} but the line has the places 0 to {len(self.ids) - 1}")

    @cached_property
    def trace(self) -> Trace:
        """Trace of the pass: all that it computed."""
        model = loaded(self.line.folder, self.line.step)
        cuts = [(READINGS[c.into], _head(c.of), _head(c.source)) for c in self.line.cuts]
        return forward.trace(model, torch.tensor([self.ids]), map(_head, self.line.off), cuts)

    @property
    def patterns(self) -> list[Float[Tensor, "head dst src"]]:
        """Attention of every head, one array per layer; of a head that is off, where it would look."""
        return [A[0] for A in self.trace.patterns]

    @cached_property
    def probabilities(self) -> Float[Tensor, "pos n_vocab"]:
        """Probability of every token to be the next one, from every place."""
        return self.trace.logits[0].softmax(dim=-1)

    @property
    def places(self) -> list[int]:
        """Places from where each of `pieces` is told: the one before it."""
        return [*self.name[:-1]]

    @property
    def pieces(self) -> list[str]:
        """The pieces of the name after its first, without the mark of a space."""
        return [names.bare(self.tokens[place + 1]) for place in self.places]

    @property
    def likely(self) -> Float[Tensor, " piece"]:
        """Probability of each of `pieces` before it comes."""
        return torch.tensor([self.told(place, self.ids[place + 1])[0] for place in self.places])

    @property
    def ranks(self) -> list[int]:
        """Rank of each of `pieces` among all tokens; 1 is the likeliest."""
        return [self.told(place, self.ids[place + 1])[1] for place in self.places]

    def told(self, place: int, token: int) -> tuple[float, int]:
        """Probability of a token to be the next after a place, and its rank.

        Raises:
            ValueError: if there is no such place or token.
        """
        row = self.probabilities[self.place(place)]
        if not 0 <= token < len(row):
            raise ValueError(f"token is {token} but must be from 0 to {len(row) - 1}")
        return float(row[token]), 1 + int((row > row[token]).sum())

    def result(self, opens: str | None = None, asked: Sequence[str] = ()) -> dict[str, Any]:
        """Result of this state, as `run` of the page's engine gives it: numbers to four decimals, attention to three.

        `opens`: what the stage unfolds, see `paragraphs.step`. `next` has the likeliest tokens, the one
        that came, and those of the labels in `asked`.
        """
        order = self.probabilities[self.at].argsort(descending=True, stable=True)[:LISTED].tolist()
        order += self.ids[self.at + 1 : self.at + 2]
        order += [id for id in map(of_label, asked) if id is not None]
        told = zip(self.places, self.pieces, strict=True)
        result = {
            "tokens": self.tokens,
            "ids": self.ids,
            "pieces": [
                self._next(place, self.ids[place + 1]) | {"place": place} for place, _ in told
            ],
            "first": self.first,
            "begin": self.name.start if self.name else -1,
            "at": self.at,
            "patterns": [
                [[_rounded(row[: dst + 1], 3) for dst, row in enumerate(A)] for A in of_layer]
                for of_layer in self.patterns
            ],
            "next": [self._next(self.at, id) for id in dict.fromkeys(order)],
            "L": len(self.patterns),
            "H": checkpoint.settings(self.line.folder)[0].n_heads,
            "cutDifferently": names.cut_differently(self.tokens),
        }
        if opens == "board":
            result |= self.board()
        if (opens or "").split(" ")[0] == "column":
            result |= self.column((opens or "").removeprefix("column").strip() or None)
        return result

    def _next(self, place: int, token: int) -> dict[str, Any]:
        p, rank = self.told(place, token)
        return {"label": label(token), "p": round(p, 4), "rank": rank}

    def board(self) -> dict[str, Any]:
        """Logits that the token at `at` and every head add for the next piece; see `forward.writers`."""
        after = self.at + 1
        last = after == len(self.ids)
        token = int(self.probabilities[self.at].argmax()) if last else self.ids[after]
        added = forward.writers(self.trace, torch.tensor(self.ids), self.at, token)
        writers = zip(["token", *self.line.heads], _rounded(added), strict=True)
        shown = [{"name": name, "logit": logit} for name, logit in writers]
        return {"writers": shown, "writtenFor": label(token)}

    def column(self, head: str | None = None) -> dict[str, Any]:
        """Tokens that the one a head looks at most raises, by the head's OV circuit alone.

        `head`: else the one of the last layer that looks most at a token but the first of the line.

        Raises:
            ValueError: if the model has no such head.
        """
        if head is not None:
            self.line.require(head)
        on = [name for name in self.line.heads if name not in self.line.off]
        last = [name for name in on if name.startswith(f"{len(self.patterns) - 1}.")]
        if not self.at or not (last or head):
            return {"column": None}
        row = {name: self.look(name)[1:] for name in last}
        head = head or max(row, key=lambda name: float(row[name].max()))
        place = 1 + int(self.look(head)[1:].argmax())
        ov = heads.full_ov(loaded(self.line.folder, self.line.step), _head(head))
        raised = ov.columns(torch.tensor([self.ids[place]]))[:, 0]
        raised = raised - raised.mean()
        top = raised.argsort(descending=True, stable=True)[:LISTED]
        listed = zip(top.tolist(), _rounded(raised[top]), strict=True)
        shown = [{"label": label(token), "logit": logit} for token, logit in listed]
        return {"column": {"head": head, "place": place, "token": self.tokens[place], "top": shown}}

    def look(self, head: str, at: int | None = None) -> Float[Tensor, " src"]:
        """Attention that a head pays from a place, or from `at`, to each place up to it.

        Raises:
            ValueError: if there is no such head or place.
        """
        self.line.require(head)
        layer, index = _head(head)
        at = self.at if at is None else self.place(at)
        return self.patterns[layer][index, at, : at + 1]

    def __repr__(self) -> str:
        return self.code

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict, dict]:
        from transformer_circuits.stage import still

        return still.drawn(self)._repr_mimebundle_()


def _head(name: str) -> heads.Head:
    layer, head = name.split(".")
    return heads.Head(int(layer), int(head))


def _rounded(values: Tensor, digits: int = 4) -> list[float]:
    return [round(value, digits) for value in values.tolist()]


def label(token: int) -> str:
    """Label of a token, as it is printed on the stage."""
    printed = tokenizer.label(tokenizer.load(), token)
    return names.BEGIN if printed == "<begin>" else printed


@cache
def _by_label() -> dict[str, int]:
    every = range(tokenizer.load().get_vocab_size())
    return {label(token): token for token in reversed(every)}


def of_label(label: str) -> int | None:
    """The token that is printed so; with a space for ␣, too."""
    return _by_label().get(label.replace(" ", "␣"))
