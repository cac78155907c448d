"""What the tensors of somebody else's checkpoint are, by structure: no library's names are known.

Names give the index of layer and head, and the usual words (q, k, v, o, embed, pos, norm, head); shapes
and what is left give the rest. `read` gives weights in one layout of them, by the names that TransformerLens
has for parts, or raises an `Unclear` with every tensor and the lines that would settle it.

Where two readings of a shape give different logits, these conventions count, and no others:

- a `.weight` is [out, in], as in torch.nn.Linear, unless matrices of the layers whose shape tells are the
  other way round; a `.kernel` is [in, out]; bare parameters are as those among them whose shape tells;
- heads stand side by side, (head d_head), and the axis of heads comes before that of d_head;
- c_attn, in_proj, Wqkv, to_qkv and to_kv are q, k, v one after the other, and query_key_value is head by
  head, as where these names come from (GPT-2, torch.nn, FlashAttention, GPT-NeoX). Of other joined matrices only
  the order of letters is in the name, and with more than one head their packing is asked for;
- norms of layers stand before attention, where the end has a norm, too; tokens enter as they are stored;
- a table of tokens or positions has a row for each; a single matrix of the vocabulary is tied;
- under TransformerLens's own names, its shapes.
"""

import math
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from einops import rearrange
from torch import Tensor

from transformer_circuits import files
from transformer_circuits.model import weights as numbers

Names = Mapping[str, str | Sequence[str]]
"""Part → tensor: "blocks.{layer}.attn.W_Q" → "layers.{layer}.wq.weight", behind which may stand its axes
as einops writes them, " d_model (head d_head)". "none" → what is no weight."""

WRAPPED = re.compile(r"_orig_mod\.|_original_component\.|^module\.")
WHOLE = re.compile(
    r"(?<![^./])\d+(?![^./])|(?i:(?<=head)|(?<=head_)|(?<=heads_))\d+(?![A-Za-z0-9])"
)
BEHIND = re.compile(r"(?<=[A-Za-z_])\d+(?![A-Za-z0-9])")
"""Numbers that are a component of a name, and that end a word of one."""
WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
LETTER = re.compile(
    r"(?:w|b|lin|fc|proj)?(q|query|queries|k|keys?|v|val|values?|o|[qkv]{2,3})(?:s|w|b|proj|lin)?"
)
END = r"(?:[._](weight|bias|kernel|scale|embedding|[wb]))?"
ALL_THREE = re.compile(rf"(?:.*\.)?(?:c_attn|in_proj|W?_?pack|attn_in){END}")
IN_BLOCKS = re.compile(rf"(?:.*\.)?(?:c_attn|in_proj|Wqkv|to_q?kv){END}")
BY_HEAD = re.compile(rf"(?:.*\.)?query_key_value{END}")
ATTENTION = re.compile(r"att", re.IGNORECASE)
OUT = re.compile(r"out|output|unify.*|combine|merge|dense")
BIAS = re.compile(r"bias|beta|shift|offset|b[qkvo]?")
GAIN = re.compile(r"weight|gamma|scale|gain|alpha|[wga]")
NORM = re.compile(r"lns?|.*norms?|rms")
MLP = re.compile(r"mlps?|ffn?|feed|feedforward|up|down|gate|experts?")
ANGLES = {"inv", "freq", "freqs", "cos", "sin", "rope", "rotary"}
"""Of tables of rotary positions, which a config says better."""
ADDED = re.compile(r"types?|segments?|lang.*")
"""Of tables that are added to tokens, and of which no model here knows."""
OUTSIDE = {
    "W_pos": re.compile(r"pos|positions?|positional|wpe|pe|wp|p|places?|times?"),
    "W_U": re.compile(r"unembed.*|head|logits?|out|output|decoder|classifier|wu|u|readout|generator"),
    "W_E": re.compile(r"embed.*|emb|wte|tok|tokens?|words?|we|e|lookup|vocab|vocabulary"),
}  # fmt: skip
OF_HEADS = ("(head d_head) d_model", "d_model (head d_head)", "head d_head d_model",
            "head d_model d_head", "d_model head d_head")  # fmt: skip
JOINED = tuple(
    axes
    for order in ("qkv head d_head", "head qkv d_head")
    for axes in (f"({order}) d_model", f"d_model ({order})", f"{order} d_model")
)
TABLE = ("n d_model", "d_model n")
"""Every layout of a matrix of heads, of several in one, and of one outside the layers."""
PART = re.compile(
    r"(?:(?:blocks|layers)\.\{layer\}\.)?(?:(?:attn|embed|pos_embed|unembed)\.)?"
    r"(W_E|W_pos|W_U|b_U|ln_final\.[wb]|ln1\.[wb]|[Wb]_(?:[QKV]{1,3}|O)|none)"
)
PLACES = {"W_E": "embed.W_E", "W_pos": "pos_embed.W_pos", "W_U": "unembed.W_U", "none": "none",
          "b_U": "unembed.b_U", "ln_final.w": "ln_final.w", "ln_final.b": "ln_final.b",
          "ln1.w": "blocks.{layer}.ln1.w", "ln1.b": "blocks.{layer}.ln1.b"}  # fmt: skip
"""Whole names of parts; the others are of attention."""


class Unclear(files.UserError):
    """More than one reading fits."""


def whole(part: str) -> str:
    """The whole name of a part: blocks.{layer}.attn.W_Q of W_Q."""
    return PLACES.get(part, "blocks.{layer}.attn." + part)


def words(name: str) -> list[list[str]]:
    """Of each component of a name, from the last to the first; numbers of layer and head left out."""
    parts = reversed(re.split(r"[./]", re.sub(r"\{\w+\}", "", name)))
    return [made for part in parts if (made := [w.lower() for w in WORD.findall(part)])] or [[]]


def _has(name: str, which: re.Pattern[str]) -> bool:
    """Whether a word of a name is one of these."""
    return any(which.fullmatch(word) for component in words(name) for word in component)


def letters(name: str) -> str:
    """Which of Q, K, V and O a tensor is by its name, in the order of the name."""
    if ALL_THREE.fullmatch(re.sub(r"\.?\{\w+\}", "", name)):
        return "QKV"
    for component in words(name):
        found = [m[1] for word in component if (m := LETTER.fullmatch(word))]
        joined = "".join(x if set(x) <= set("qkv") else x[0] for x in found).upper()
        if joined and len({*joined}) == len(joined):
            return joined
        if any(map(OUT.fullmatch, component)):
            break
    return ""


@dataclass
class Family:
    """Tensors that are alike but for their layer and head."""

    pattern: str
    """Their name, with {layer} and {head} in place of numbers."""
    each: dict[tuple[int, int], Tensor] = field(default_factory=dict)
    """By layer and head, 0 where there is no such number."""
    part: str = ""
    axes: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one layer: with the number of heads in front, where each has its own."""
        heads = (len({head for _, head in self.each}),) if "{head}" in self.pattern else ()
        return heads + tuple(next(iter(self.each.values())).shape)

    @property
    def ndim(self) -> int:
        return next(iter(self.each.values())).ndim

    @property
    def stem(self) -> str:
        return re.sub(r"[._](weight|bias|kernel|scale|[wb])$", "", self.pattern)

    @property
    def plain(self) -> str:
        return re.sub(r"\.?\{\w+\}", "", self.pattern)

    def __str__(self) -> str:
        return f"{self.pattern} {self.shape}"

    def of(self, layer: int | None = None) -> Tensor:
        layer = next(iter(self.each))[0] if layer is None else layer
        alike = [self.each[key] for key in sorted(self.each) if key[0] == layer]
        return torch.stack(alike) if "{head}" in self.pattern else alike[0]

    def has(self, which: re.Pattern[str]) -> bool:
        """Whether a word of its name is one of these."""
        return _has(self.pattern, which)


def _numbered(names: Sequence[str], of_layers_too: Collection[str]) -> dict[str, tuple]:
    """The pattern of each name, with its layer and head; `of_layers_too`: what else is of layers."""
    own = {name for name in names if name in of_layers_too or letters(name)}
    own = own or {name for name in names if ATTENTION.search(name)}
    kind = WHOLE if any(map(WHOLE.search, own)) else BEHIND
    heads = re.compile(r"heads?[._]?$", re.IGNORECASE)
    places: dict[str, set[int]] = {}  # by what stands before them: numbers of what is of attention
    for name in own:
        for found in kind.finditer(name):
            before = kind.sub("#", name[: found.start()])
            if not heads.search(before):
                places.setdefault(before, set()).add(int(found[0]))
    outer = min((before.count("#") for before in places), default=0)  # of lists in lists
    layers = {before: has for before, has in places.items() if before.count("#") == outer}
    # A list of two or more: what stands once may be anything.
    layers = {before: has for before, has in layers.items() if len(has) > 1} or layers
    known = set().union(*layers.values())
    placed = {}
    for name in names:
        layer, head, pattern, end = 0, 0, "", 0
        for found in kind.finditer(name):
            before, number, mark = kind.sub("#", name[: found.start()]), int(found[0]), found[0]
            if heads.search(before):
                mark, head = "{head}", number
            elif (
                number in known
                and "{layer}" not in pattern
                and (before in layers or kind is BEHIND or _has(before, NORM))
            ):
                mark, layer = "{layer}", number
            pattern, end = pattern + name[end : found.start()] + mark, found.end()
        placed[name] = pattern + name[end:], (layer, head)
    return placed


@dataclass
class Reading:
    """The weights of a checkpoint by the names of parts, and what else its tensors tell."""

    weights: dict[str, Tensor]
    """W_Q, W_K, W_V and W_O are [head, d_head, d_model], W_E, W_pos and W_U [n, d_model]."""
    n_layers: int
    told: dict[str, str]
    """What each tensor was read as."""


class _Reader:
    def __init__(self, given: Mapping[str, Tensor], cfg: Mapping[str, Any], names: Names):
        self.cfg, self.d = cfg, 0
        plain: dict[str, Tensor] = {}
        for name, W in given.items():
            W, name = W.detach(), WRAPPED.sub("", name.replace("/", "."))
            if name in plain and not torch.equal(plain[name], W):
                raise files.UserError(f"there are two tensors {name}, with other numbers")
            plain[name] = W
        self.families, of = self._named(plain, names)
        plain = {n: W for n, W in plain.items() if n not in of and not self._no_weight(n, W)}
        numbers.require_numbers(plain)
        plain = self._unstacked(plain)
        known = {n for n, part in of.items() if PLACES.get(part, "blocks")[:6] == "blocks"}
        made: dict[str, Family] = {}
        for name, (pattern, key) in _numbered([*plain, *of], known).items():
            if name in plain:
                made.setdefault(pattern, Family(pattern)).each[key] = plain[name]
        self.families += made.values()
        for f in self.families:
            if len(shapes := {tuple(W.shape) for W in f.each.values()}) > 1:
                raise files.UserError(f"{f.pattern} has several shapes, {sorted(shapes)}")
            numbers.require_numbers({f.pattern: next(iter(f.each.values()))})
        numbered = any("{layer}" in f.pattern for f in self.families)
        self.inside = [
            f for f in self.families
            if (whole(f.part)[:6] == "blocks" if f.part else
                "{layer}" in f.pattern or (not numbered and self._of_heads(f)))
        ]  # fmt: skip
        self.layers = sorted({layer for f in self.inside for layer, _ in f.each})
        for f in self.families:
            if f not in self.inside:
                f.each = {key: W.squeeze() if W.ndim > 2 else W for key, W in f.each.items()}
            elif {layer for layer, _ in f.each} != {*self.layers} or len(f.each) % len(self.layers):
                where = f"{f.pattern} is there for {sorted(f.each)} alone"
                raise files.UserError(f"the layers are {self.layers}, but {where}")

    @staticmethod
    def _of_heads(f: Family) -> bool:
        """Whether it is of attention by its name, where no number tells."""
        out = f.has(OUT) and not any(map(f.has, OUTSIDE.values()))
        return bool(letters(f.pattern)) or out

    @staticmethod
    def _named(plain: Mapping[str, Tensor], names: Names) -> tuple[list[Family], dict[str, str]]:
        """Families that `names` has, and the part of each tensor that it names."""
        taken: dict[str, str] = {}
        made: dict[str, Family] = {}
        for key, lines in names.items():
            if not (known := PART.fullmatch(key)):
                raise files.UserError(f"names has {key!r}, but parts are called {PART.pattern}")
            for line in [lines] if isinstance(lines, str) else lines:
                pattern, _, axes = line.partition(" ")
                pattern = WRAPPED.sub("", pattern.replace("/", "."))
                form = re.sub(r"\\\{(layer|head)\\\}", r"(?P<\1>\\d+)", re.escape(pattern))
                found = {n: m.groupdict() for n in plain if (m := re.fullmatch(form, n))}
                if not found:
                    there = f"no tensor is called so: {[*plain][:8]}"
                    raise files.UserError(f"names has {pattern} for {key}, but {there}")
                taken |= dict.fromkeys(found, known[1])
                family = made.setdefault(known[1], Family(pattern, {}, known[1], axes.strip()))
                for name, at in found.items():
                    family.each[int(at.get("layer", 0)), int(at.get("head", 0))] = plain[name]
        return [f for part, f in made.items() if part != "none"], taken

    def _unstacked(self, plain: dict[str, Tensor]) -> dict[str, Tensor]:
        """With a tensor for each layer, where the first axis of one without numbers is of layers."""
        n, own = self.cfg.get("n_layers") or 0, [W for name, W in plain.items() if letters(name)]
        if n < 2 or any(re.search(r"\d", name) for name in plain) or not own:
            return plain
        if any(len(W) != n for W in own) or max(W.ndim for W in own) < 3:
            return plain
        each = {f"{name}.{i}": W[i] for name, W in plain.items() if len(W) == n for i in range(n)}
        return each | {name: W for name, W in plain.items() if len(W) != n}

    def _no_weight(self, name: str, W: Tensor) -> bool:
        """Whether it is a mask, a count or a table of angles, all of which may be saved, too."""
        told = {word for component in words(name) for word in component}
        if name.endswith(numbers.BUFFERS) or ANGLES & {*words(name)[0]}:
            return True
        if W.layout != torch.strided or W.is_meta or W.is_quantized:
            return False
        if W.ndim == 0:
            return bool(told & {"mask", "masked", "ignore", "bias"}) and not float(W) > -1e4
        if W.dtype == torch.bool or told & {"mask", "tril", "causal"}:
            return True
        counts = not W.is_floating_point() and not W.is_complex()
        if counts and told & {"ids", "id", "pos", "position", "positions", "arange"}:
            return torch.equal(W.flatten(), torch.arange(W.numel()).to(W))
        n = W.shape[-1]
        if n < 2 or W.shape[-2:] != (n, n) or W.numel() != n * n or W.is_complex():
            return False
        return torch.equal(W.reshape(n, n), torch.ones(n, n).tril().to(W))

    def unclear(self, said: str, *ways: tuple[Family, str] | tuple[Family, str, str]) -> Unclear:
        """The refusal, with every tensor and what it could be; `ways`: family, part, axes."""
        rows = [
            f"  {f}: {f.part or 'could be ' + ' or '.join(self._parts(f))}" for f in self.families
        ]
        lines = ["One of these lines settles it:"] * bool(ways)
        for f, part, *axes in ways:
            lines.append(f"  names = {files.as_json({whole(part): ' '.join([f.pattern, *axes])})}")
        return Unclear("\n".join([f"{said}. The tensors:", *rows, *lines]))

    def _parts(self, f: Family) -> list[str]:
        """What it could be by its shape alone."""
        fits = not self.d or self.d in f.shape
        if f in self.inside and len(f.shape) == 1:
            return ["ln1.w", "ln1.b", "b_O"] if fits else ["b_Q", "b_K", "b_V"]
        if len(f.shape) == 1:
            return ["ln_final.w", "ln_final.b"] if f.shape == (self.d,) else ["b_U"]
        if not fits:
            return ["nothing that is known here"]
        return (
            ["W_Q", "W_K", "W_V", "W_O", "W_QKV"] if f in self.inside else ["W_E", "W_pos", "W_U"]
        )

    def get(self, part: str) -> Family | None:
        return next((f for f in self.families if f.part == part), None)

    def read(self) -> Reading:
        self._refuse_mlps()
        self._letters()
        self._sizes()
        self._outside()
        self._norms()
        for f in self.families:
            if not f.part:
                parts = [
                    p for p in [*self._parts(f), "none"] if PART.fullmatch(p) and not self.get(p)
                ]
                raise self.unclear(f"what {f} is, nothing tells", *((f, part) for part in parts))
        made: dict[str, Tensor] = {}
        for f in self.families:
            if f.part in OUTSIDE:
                made[whole(f.part)] = rearrange(f.of(), f"{f.axes} -> n d_model")
            elif f not in self.inside:
                made[whole(f.part)] = f.of().flatten()
        self._tie(made)
        for f in self.inside:
            for number, layer in enumerate(self.layers):
                if f.part[:2] == "ln" or f.part == "b_O":
                    made[whole(f.part).format(layer=number)] = f.of(layer).flatten()
                    continue
                W = f.of(layer) if f.part[0] == "W" else f.of(layer).flatten()
                for part, of_heads in self._split(f, f.axes, W):
                    made[f"blocks.{number}.attn.{part}"] = of_heads
        told = {f.pattern: f"{whole(f.part)} {f.axes}".strip() for f in self.families}
        return Reading(made, len(self.layers), told)

    def _tie(self, made: dict[str, Tensor]) -> None:
        tied, both = self.cfg.get("tie_word_embeddings"), ("embed.W_E", "unembed.W_U")
        there = [made[part] for part in both if part in made]
        if len(there) == 1 and tied is not False:
            made |= dict.fromkeys(both, there[0])
        elif len(there) < 2:
            raise self.unclear(f"W_E or W_U is missing, and tie_word_embeddings is {tied}")
        elif tied and not (there[0].shape == there[1].shape and torch.equal(*there)):
            raise files.UserError("tie_word_embeddings is true, but W_E and W_U are different")

    def _refuse_mlps(self) -> None:
        own = [(f, f.part[2:] or letters(f.pattern)) for f in self.inside]
        found = [f for f, of in own if f.has(MLP) and not f.part and of in ("", "O")]
        matrices = [f for f, of in own if f.ndim > 1 and not of]
        if len(matrices) > 2 and {x for _, of in own for x in of} >= {*"QKV"}:
            found = found or [f for f in matrices if not f.has(OUT)]
        if found:
            raise files.UserError(
                f"there are MLPs, {', '.join(map(str, found[:4]))}, and only attention is taken apart "
                "here. What a model does can be asked of any function that makes logits of tokens: "
                "analysis.repeats.predictions(model, passages)"
            )

    def _letters(self) -> None:
        """Which matrices of the layers are queries, keys, values and outputs."""
        for f in self.inside:
            if f.part or not (of := letters(f.pattern)):
                continue
            if f.has(NORM) and of != "O":
                raise self.unclear(
                    f"{f.pattern} is a norm of queries or keys, as no model here has"
                )
            f.part = ("b_" if any(map(BIAS.fullmatch, words(f.pattern)[0])) else "W_") + of
        for f in self.inside:
            same = [g for g in self.inside if f.part and g.part == f.part]
            if len(same) > 1:
                raise self.unclear(f"several tensors are {f.part}", *((g, g.part) for g in same))
        left = [f for f in self.inside if not f.part and len(f.shape) > 1]
        has = {x for f in self.inside if f.part[:2] == "W_" for x in f.part[2:]}
        if len(left) == 1 and has == {*"QKV"}:
            left[0].part, has = "W_O", {*"QKVO"}
        if self.layers and has != {*"QKVO"}:
            missing = [f"W_{x}" for x in "QKVO" if x not in has]
            ways = [(f, part) for f in self.inside if f in left[:1] for part in missing]
            raise self.unclear(f"no tensor of the layers is {' or '.join(missing)} for sure", *ways)
        weights = {f.stem: f.part[2:] for f in self.inside if f.part[:2] == "W_"}
        for f in self.inside:
            if not f.part and f.stem in weights:
                f.part = "b_" + weights[f.stem]

    def _sizes(self) -> None:
        """d_model, and from matrix to matrix the numbers of heads and their widths."""
        matrices = [f for f in self.families if len(f.shape) > 1 and f.part[:2] != "b_"]
        sides = set.intersection(*({*f.shape} for f in matrices)) if matrices else set()
        of_norms = {f.shape[0] for f in self.families if len(f.shape) == 1 and f.has(NORM)}
        if len(sides) > 1:
            sides = {self.cfg.get("d_model")} & sides or of_norms & sides or sides
        if len(sides) != 1:
            could = (
                " or ".join(sorted(map(str, sides)))
                or "nothing: no number is a side of every matrix"
            )
            raise self.unclear(f"d_model could be {could}; config={{'d_model': …}} says it")
        self.d = int(sides.pop() or 0)
        heads = [f for f in self.inside if f.part[:2] == "W_"]
        per_head = [f.shape[0] for f in heads if "{head}" in f.pattern and "Q" in f.part]
        self.n_heads: Any = self.cfg.get("n_heads") or (per_head[0] if per_head else None)
        self.n_kv: Any
        self.d_head: Any
        self.n_kv, self.d_head = self.cfg.get("n_key_value_heads"), self.cfg.get("d_head")
        if self.n_kv is None and any({*"QK"} <= {*f.part} for f in heads):
            self.n_kv = self.n_heads
        heads.sort(key=lambda f: min("QKVO".index(x) for x in f.part[2:]))
        fitting = {f.part: self._fitting(f) for f in heads}
        for f in heads:
            f.axes = self._settled(f, fitting)
        for f in self.inside:
            if f.part[:2] == "b_" and f.part != "b_O":
                weight = self.get("W_" + f.part[2:])
                axes = f.axes or (weight.axes if weight else (JOINED, OF_HEADS)[len(f.part) < 4][0])
                # A bias has the order of its matrix, whether or not it has the axes.
                f.axes = f"({re.sub(r'd_model|[()]', '', axes).strip()})"

    def _known(self, part: str) -> dict[str, int | None]:
        heads = self.n_kv if not {*"QO"} & {*part} else self.n_heads
        return {"d_model": self.d, "qkv": len(part) - 2, "head": heads, "d_head": self.d_head}

    def _fitting(self, f: Family) -> list[str]:
        """The layouts that its shape allows; sizes that it tells are kept."""
        layouts = [f.axes] if f.axes else JOINED if len(f.part) > 3 else OF_HEADS
        if "{head}" in f.pattern:
            layouts = [axes for axes in layouts if axes.startswith("head ")]
        found = {axes: _sizes(axes, f.shape, self._known(f.part)) for axes in layouts}
        fit = [axes for axes in layouts if found[axes] is not None]
        if not fit:
            known = {name: size for name, size in self._known(f.part).items() if size}
            if self.n_heads is None and len(f.shape) < 3:
                raise self.unclear("no shape says how many heads there are: config={'n_heads': …}")
            raise self.unclear(f"{f} cannot be {f.part}, with {known}")
        one = found[fit[0]] or {}
        if "Q" in f.part:
            self.n_heads, self.d_head = one["head"], one["d_head"]
        if "K" in f.part:
            self.n_kv = self.n_kv or one["head"]
        return fit

    def _settled(self, f: Family, fitting: Mapping[str, list[str]]) -> str:
        """The layout of a matrix, by the conventions that count; with several the file is refused."""
        left = fitting[f.part]
        if self.n_heads == 1 and len(f.part) > 3:  # then no order of heads is another
            left = [axes for axes in left if "qkv head" in axes]
        if len(left) > 1 and f.pattern == whole(f.part) and f.ndim == 3:
            left = ["head d_head d_model" if f.part == "W_O" else "head d_model d_head"]
        if len(left) > 1 and f.ndim == 2 and (told := self._out_first(f, fitting)) is not None:
            left = [axes for axes in left if _out_first(f.part, axes) == told]
        for convention, first in ((IN_BLOCKS, "qkv head"), (BY_HEAD, "head qkv")):
            if len(left) > 1 and len(f.part) > 3 and convention.fullmatch(f.plain):
                left = [axes for axes in left if first in re.sub(r"[()]", "", axes)]
        if len(left) > 1:
            said = f"{f} could be {f.part} in {len(left)} layouts, with different logits"
            raise self.unclear(said, *((f, f.part, axes) for axes in left))
        return left[0]

    def _out_first(self, f: Family, fitting: Mapping[str, list[str]]) -> bool | None:
        """Whether matrices of its kind are [out, in], by those whose shape tells, or by the kind."""
        kind = _kind(f.pattern)
        alike = [g for g in self.inside if g.part in fitting and g.ndim == 2]
        ways = [
            {_out_first(g.part, a) for a in fitting[g.part]}
            for g in alike
            if _kind(g.pattern) == kind
        ]
        told = {one for way in ways if len(way) == 1 for one in way}
        if kind == "kernel" or len(told) == 1:
            return kind != "kernel" and told.pop()
        return True if kind and not told else None

    def _split(self, f: Family, axes: str, W: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Each part of a matrix or a bias, [head, d_head, d_model] or [head, d_head]."""
        kind, which = f.part[:2], f.part[2:]
        sizes = _sizes(axes, tuple(W.shape), self._known(f.part))
        if sizes is None:
            raise self.unclear(f"{f} does not fit {f.part}, {axes}")
        used = {name: size for name, size in sizes.items() if re.search(rf"\b{name}\b", axes)}
        after = "head d_head" + " d_model" * ("d_model" in axes)
        if len(which) > 1:
            made = rearrange(W, f"{axes} -> qkv {after}", **used)
            yield from ((kind + x, part) for x, part in zip(which, made.unbind(), strict=True))
        else:
            yield f.part, rearrange(W, f"{axes} -> {after}", **used)

    def _outside(self) -> None:
        """Which matrices outside the layers are of tokens, positions and outputs."""
        left = [f for f in self.families if f not in self.inside and len(f.shape) == 2]
        left = [f for f in left if self.d in f.shape and not f.part]
        folders = [f.pattern.replace(".", "/") for f in self.families]
        common = os.path.commonpath(folders) if len(folders) > 1 else ""
        for f in left:
            own = f.pattern[len(common) :]  # "net.head." of all names tells nothing
            of = words(own)
            f.part = "W_pos" if _has(own, OUTSIDE["W_pos"]) else ""
            by = [p for one in of for p in ("W_U", "W_E") if any(map(OUTSIDE[p].fullmatch, one))]
            f.part = f.part or (by or [""])[0]
        for part in OUTSIDE:
            if len(same := [f for f in self.families if f.part == part]) > 1:
                raise self.unclear(
                    f"several tensors are {part} by their names", *((f, part) for f in same)
                )
        missing = [part for part in OUTSIDE if not self.get(part)]
        open_ = [f for f in left if not f.part]
        if len(open_) == 1 and missing:  # what is left: a table, or as large as the other of both
            other = self.get("W_E") or self.get("W_U")
            alike = other is not None and {*other.shape} == {*open_[0].shape}
            of = [part for part in missing if (part != "W_pos") == alike]
            if len(of) == 1 and (alike or (missing == of and not open_[0].has(ADDED))):
                open_.pop().part = of[0]
        if open_:
            said = f"what {open_[0]} is, its name does not tell"
            raise self.unclear(said, *((open_[0], part) for part in missing))
        for f in self.families:
            if f.part in OUTSIDE and not f.axes:
                fit = [a for a, n in zip(TABLE, (1, 0), strict=True) if f.shape[n] == self.d]
                kind = _kind(f.pattern)
                if len(fit) > 1 and f.pattern == whole(f.part):
                    fit = [TABLE[f.part == "W_U"]]
                elif len(fit) > 1 and (kind or f.part == "W_pos"):
                    fit = [TABLE[kind == "kernel"]]
                if len(fit) != 1:
                    said = f"{f} could be {f.part} either way round"
                    raise self.unclear(said, *((f, f.part, axes) for axes in fit))
                f.axes = fit[0]

    def _norms(self) -> None:
        """Which vectors are gains and biases of norms, and the bias of the outputs."""
        U = self.get("W_U") or self.get("W_E")
        n_out = next((n for n in (U.shape if U else ()) if n != self.d), self.d)
        modules: dict[str, list[Family]] = {}
        for f in self.families:
            if f.part or len(f.shape) != 1:
                continue
            of_outputs = f.shape == (n_out,) != (self.d,) or (U is not None and f.stem == U.stem)
            if of_outputs and f not in self.inside:
                f.part = "b_U"
            elif f.shape == (self.d,):
                modules.setdefault(re.sub(r"[._][^._]+$", "", f.pattern), []).append(f)
        norms = [pair for fs in modules.values() if (pair := _gain_and_bias(fs))]
        of_layers = [pair for pair in norms if pair[0] in self.inside]
        last = [pair for pair in norms if pair not in of_layers]
        for part, found in (("ln1", of_layers), ("ln_final", last)):
            if len(found) > 1:
                said = f"there are {len(found)} norms where one is known, {part}"
                raise self.unclear(said, *((pair[0], f"{part}.w") for pair in found))
            for f, end in zip(found[0] if found else (), (".w", ".b"), strict=False):
                f.part = part + end


def _gain_and_bias(module: Sequence[Family]) -> list[Family]:
    """The vectors of a norm, the gain first; none if that is not what they are for sure."""

    def ends(f: Family, which: re.Pattern[str]) -> bool:
        return any(map(which.fullmatch, words(f.pattern)[0][-2:]))

    bias = [f for f in module if ends(f, BIAS)]
    gain = [f for f in module if f not in bias]
    told = len(gain) == 1 and (len(bias) == 1 or ends(gain[0], GAIN))
    return gain + bias if told and len(bias) < 2 else []


def _kind(name: str) -> str:
    """How a module calls its matrix, if a module has it: weight, kernel or embedding."""
    found = re.search(r"[._](weight|kernel|embedding)$", name)
    return found[1] if found else ""


def _out_first(part: str, axes: str) -> bool:
    """Whether a layout has what is written before what is read."""
    return (axes.index("d_model") < axes.index("d_head")) == (part == "W_O")


def _sizes(
    axes: str, shape: tuple[int, ...], known: Mapping[str, int | None]
) -> dict[str, int] | None:
    """The size of each name in a layout, if a shape allows it; at most one in each axis may be unknown."""
    groups = re.findall(r"\([^)]*\)|\S+", axes)
    if len(groups) != len(shape):
        return None
    found = {name: int(size) for name, size in known.items() if size}
    for group, size in zip(groups, shape, strict=True):
        names = group.strip("()").split()
        product = math.prod(found.get(name, 1) for name in names)
        unknown = [name for name in names if name not in found]
        if len(unknown) > 1 or size % product or (not unknown and size != product):
            return None
        if unknown:
            found[unknown[0]] = size // product
    return found


def read(given: Mapping[str, Tensor], cfg: Mapping[str, Any], names: Names) -> Reading:
    """The weights of a checkpoint by the names of parts.

    `cfg`: settings by the names of `their_settings`. `names`: which tensors are which parts, where that is said.

    Raises:
        UserError: if there are MLPs, or something that no model here has.
        Unclear: if more than one reading fits.
    """
    return _Reader(given, cfg, names).read()
