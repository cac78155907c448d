"""Parts that the tensors of somebody else's checkpoint are, by structure: no library's names are known.

Names give the index of layer and head, and the usual words; shapes and what is left give the rest. `read`
gives weights in one layout, by the names that TransformerLens has for parts, or raises an `Unclear` with
every tensor and the lines that would settle it.

Where two readings of a shape give different logits, these conventions count, and no others:

- a `.weight` is [out, in], as in torch.nn.Linear, unless matrices of the layers whose shape tells are the
  other way round; a `.kernel` is [in, out]; bare parameters are as those among them whose shape tells;
- heads stand side by side, (head d_head), and the axis of heads comes before that of d_head;
- c_attn and in_proj are q, k, v one after the other, as in GPT-2 and torch.nn. Of other joined matrices only
  the order of letters is in the name, and with more than one head their packing is asked for;
- norms of layers stand before attention, where the end has a norm, too, and no word says otherwise;
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
as einops writes them, " d_model (head d_head)"; a number may stand for {layer}. "none" → what is no weight."""

WORDS = {
    "W_pos": r"pos|positions?|positional|wpe|pe|wp|p|places?|times?",
    "W_U": r"unembed.*|head|logits?|out|output|decoder|classifier|wu|u|readout|generator",
    "W_E": r"embed.*|emb|wte|tok|tokens?|words?|we|e|lookup|vocab|vocabulary",
    "W_O": r"out|output|unify.*|combine|merge|dense",
    "bias": r"bias|beta|shift|offset|b[qkvo]?",
    "gain": r"weight|gamma|scale|gain|alpha|[wga]",
    "norm": r"lns?|.*norms?|rms",
    "norm behind": r"post|sub|inner|out|output|[qkv]|query|key|value",
    "norm of tokens": r"emb|embed.*|tok|tokens?",
    "MLP": r"mlps?|ffn?|feed|feedforward|up|down|gate|experts?",
    "angles": r"inv|freqs?|cos|sin|rope|rotary",
    "added": r"types?|segments?|lang.*",
}
"""The usual words of a name, in lower case; of angles, the last component's; "added" are tables beside tokens."""
LETTER = re.compile(
    r"(?:w|b|lin|fc|proj)?(q|query|queries|k|keys?|v|val|values?|o|[qkv]{2,3})(?:s|w|b|proj|lin)?"
)
LETTERS = ("Q", "K", "V", "O", "KV", "QKV")
IN_BLOCKS = re.compile(r"(?:.*\.)?(?:c_attn|in_proj)(?:[._][a-z]+)?")
WRAPPED = re.compile(r"_orig_mod\.|_original_component\.|^module\.")
NUMBER = re.compile(r"\d+(?![A-Za-z0-9])")
HEAD = re.compile(r"(?i)(heads?[._]?)(\d+)(?![a-z0-9])")
OUTSIDE = ("W_pos", "W_U", "W_E")
OF_HEADS = ("(head d_head) d_model", "d_model (head d_head)", "head d_head d_model",
            "head d_model d_head", "d_model head d_head")  # fmt: skip
JOINED = tuple(
    axes
    for order in ("qkv head d_head", "head qkv d_head")
    for axes in (f"({order}) d_model", f"d_model ({order})", f"{order} d_model")
)
TABLE = ("n d_model", "d_model n")
THEIRS = {"W_O": "head d_head d_model", "W_E": TABLE[0], "W_pos": TABLE[0], "W_U": TABLE[1]}
"""Layouts of a matrix of heads, of several in one, of one outside the layers, and TransformerLens's own."""
PART = re.compile(
    r"(?:(?:blocks|layers)\.(?P<layer>\{layer\}|\d+)\.)?(?:(?:attn|embed|pos_embed|unembed)\.)?"
    r"(?P<part>W_E|W_pos|W_U|b_U|ln_final\.[wb]|ln1\.[wb]|[Wb]_(?:[QKV]{1,3}|O)|none)"
)
PLACES = {"W_E": "embed.W_E", "W_pos": "pos_embed.W_pos", "W_U": "unembed.W_U", "none": "none",
          "b_U": "unembed.b_U", "ln_final.w": "ln_final.w", "ln_final.b": "ln_final.b",
          "ln1.w": "blocks.{layer}.ln1.w", "ln1.b": "blocks.{layer}.ln1.b"}  # fmt: skip
"""Whole names of parts; the others are of attention."""


class Unclear(files.UserError):
    """Raised when the tensors of a checkpoint can be read in more than one way."""


def whole(part: str) -> str:
    """Whole name of a part: blocks.{layer}.attn.W_Q of W_Q."""
    return PLACES.get(part, "blocks.{layer}.attn." + part)


def words(name: str) -> list[list[str]]:
    """Words of each component of a name, from the last to the first, without numbers."""
    parts = reversed(re.split(r"[./]", re.sub(r"\{\w+\}", "", name)))
    found = (re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+", part) for part in parts)
    return [[word.lower() for word in component] for component in found if component] or [[]]


def has(name: str, which: str, last: bool = False) -> bool:
    """True if a word of a name, or of its last component, fits the pattern `WORDS[which]`."""
    components = words(name)[:1] if last else words(name)
    return any(re.fullmatch(WORDS[which], word) for of in components for word in of)


def letters(name: str) -> str:
    """Letters among Q, K, V and O that a tensor's name stands for, in its order; "" if none."""
    if IN_BLOCKS.fullmatch(re.sub(r"\.?\{\w+\}", "", name)):
        return "QKV"
    if re.search(r"bias_[kv]$", name):  # torch.nn's: a key and a value that every place has more
        return ""
    for component in words(name):
        if any(re.fullmatch(WORDS["norm"], word) for word in component):
            break
        found = [m[1] for word in component if (m := LETTER.fullmatch(word))]
        joined = "".join(x if set(x) <= set("qkv") else x[0] for x in found).upper()
        if any(len(joined) == len(known) and {*joined} == {*known} for known in LETTERS):
            return joined
        if any(re.fullmatch(WORDS["W_O"], word) for word in component):
            break
    return ""


@dataclass(eq=False)
class Family:
    """Tensors that are alike but for their layer and head."""

    pattern: str
    """Name of the tensors, with {layer} and {head} in place of numbers."""
    part: str = ""
    axes: str = ""
    each: dict[tuple[int, int], Tensor] = field(default_factory=dict)
    """Tensors by layer and head, 0 where there is no such number."""
    inside: bool = False
    """True for tensors of the layers."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape in one layer, with the number of heads in front, where each has its own."""
        heads = (len({head for _, head in self.each}),) if "{head}" in self.pattern else ()
        return heads + tuple(next(iter(self.each.values())).shape)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def atoms(self) -> list[str]:
        """Part that it is, or each of those that are joined in it."""
        joined = re.fullmatch(r"([Wb]_)([QKV]{2,3})", self.part)
        return [joined[1] + x for x in joined[2]] if joined else [self.part] * bool(self.part)

    @property
    def stem(self) -> str:
        return re.sub(r"[._](weight|bias|kernel|scale|[wb])$", "", self.pattern)

    @property
    def kind(self) -> str:
        """Name that a module has for its matrix, if a module has it."""
        return "".join(re.findall(r"[._](weight|kernel|embeddings?)$", self.pattern))

    def __str__(self) -> str:
        return f"{self.pattern} {self.shape}"

    def of(self, layer: int) -> Tensor:
        alike = [self.each[key] for key in sorted(self.each) if key[0] == layer]
        return torch.stack(alike) if "{head}" in self.pattern else alike[0]

    def has(self, *which: str) -> bool:
        return any(has(self.pattern, one) for one in which)


@dataclass
class FoundWeights:
    """Weights of somebody's checkpoint in one layout, by TransformerLens's names, and how each was found."""

    weights: dict[str, Tensor]
    """W_Q, W_K, W_V and W_O are [head, d_head, d_model]; W_E, W_pos and W_U are [n, d_model]."""
    n_layers: int
    parts: dict[str, str]
    """Part that tensors were read as, by the pattern of their names, with "{layer}" and "{head}"."""
    rotary_tables: list[str]
    """Names of tables of rotary angles, which are not read: the config gives the angles."""


Place = tuple[str, str, str, int, int]
"""Pattern, part and axes of a tensor's family, its layer and its head."""


def _said(names: Names, plain: Collection[str]) -> Iterator[tuple[str, Place]]:
    """Places of the tensors that `names` has; lines that name one tensor come before patterns."""
    taken: set[str] = set()
    lines = [(part, x) for part, of in names.items() for x in ([of] if isinstance(of, str) else of)]
    for key, line in sorted(lines, key=lambda pair: "{" in pair[1]):
        if not (known := PART.fullmatch(key)):
            parts = (
                'W_E, W_pos, W_U, b_U, W_Q … W_O, b_Q … b_O, ln1.w, ln_final.w and so on, or "none"'
            )
            raise files.UserError(f"names has {key!r}, but parts are called {parts}")
        pattern, _, axes = line.partition(" ")
        pattern = WRAPPED.sub("", pattern.replace("/", "."))
        form = re.sub(r"\\\{(layer|head)\\\}", r"(?P<\1>\\d+)", re.escape(pattern))
        free = [name for name in plain if name not in taken or "{" not in pattern]
        found = {name: m.groupdict() for name in free if (m := re.fullmatch(form, name))}
        if not found:
            there = f"no tensor is called so: {[*plain][:8]}"
            raise files.UserError(f"names has {pattern} for {key}, but {there}")
        taken |= {*found}
        own = (known["layer"] or "").strip("{layer}") or 0
        for name, at in found.items():
            at_ = int(at.get("layer", own)), int(at.get("head", 0))
            yield name, (pattern, known["part"], axes.strip(), *at_)


def _numbered(names: Sequence[str], of_layers: Collection[str]) -> Iterator[tuple[str, Place]]:
    """Places of tensors by the numbers in their names; `of_layers`: names that are of layers for sure."""
    own = {name for name in names if name in of_layers or letters(name)}
    own = own or {name for name in names if "att" in name.lower()}
    mine: dict[str, set[int]] = {}
    others: dict[str, set[int]] = {}
    slots: dict[str, list[tuple[str, re.Match]]] = {}
    for name in names:
        heads = {m.start(2) for m in HEAD.finditer(name)} if name in own else set()
        found = [m for m in NUMBER.finditer(name) if m.start() not in heads]
        slots[name] = [(re.sub(r"\d+", "#", name[: m.start()]), m) for m in found]
        for before, m in slots[name]:
            (mine if name in own else others).setdefault(before, set()).add(int(m[0]))
    # A list of two or more, or a whole component: what stands once in a word may be anything.
    several = [at for at, of in mine.items() if len(of) > 1]
    several = several or [at for at in mine if not at[-1:].isalpha()] or [*mine]
    outer = min((at.count("#") for at in several), default=0)  # of lists in lists
    layers = {at for at in several if at.count("#") == outer}
    known = set().union(*(mine[at] for at in layers))
    alike = {at for at, of in others.items() if of == known}
    outside = {at for at in alike if any(has(at, part) for part in OUTSIDE)}
    layers |= {at for at in alike if has(at, "norm") or (at[-1:] == "." and at not in outside)}
    for name, found in slots.items():
        pattern, layer, head = name, 0, 0
        for before, m in reversed(found):
            if before in layers and int(m[0]) in known:
                layer = int(m[0])
                pattern = f"{name[: m.start()]}{{layer}}{name[m.end() :]}"
        if name in own and (m := HEAD.search(pattern)):
            head, pattern = int(m[2]), HEAD.sub(r"\1{head}", pattern, count=1)
        yield name, (pattern, "", "", layer, head)


class _Reader:
    def __init__(self, given: Mapping[str, Tensor], cfg: Mapping[str, Any], names: Names):
        self.cfg, self.d = cfg, 0
        plain: dict[str, Tensor] = {}
        for name, W in given.items():
            W, name = W.detach(), WRAPPED.sub("", name.replace("/", "."))
            if name in plain and not torch.equal(plain[name], W):
                raise files.UserError(f"there are two tensors {name}, with other numbers")
            plain[name] = W
        said = [*_said(names, plain)]
        left = {name: W for name, W in plain.items() if name not in dict(said)}
        self.rotary_tables = [name for name in left if has(name, "angles", last=True)]
        left = {
            n: W for n, W in left.items() if n not in self.rotary_tables and not _no_weight(n, W)
        }
        said = [(name, at) for name, at in said if at[1] != "none"]
        numbers.require_numbers(left | {name: plain[name] for name, _ in said})
        of_layers = {name for name, at in said if whole(at[1])[:6] == "blocks"}
        every = _numbered([*left, *dict(said)], of_layers)
        made: dict[str, Family] = {}
        for name, at in [*said, *(pair for pair in every if pair[0] in left)]:
            pattern, part, axes, layer, head = at
            f = made.setdefault(part or pattern, Family(pattern, part, axes))
            # A tensor may have an axis of layers, if a line says so.
            tensors = plain[name] if axes.startswith("layer ") else plain[name][None]
            for i, W in enumerate(tensors, layer):
                if (i, head) in f.each or f.axes != axes:
                    raise files.UserError(f"names has several tensors for {part}, or several axes")
                f.each[i, head] = W
        self.families = [*made.values()]
        self._layers()

    def _layers(self) -> None:
        """Which families are of layers, and whether every layer has all of them."""
        numbered = any("{layer}" in f.pattern or len(f.each) > 1 for f in self.families)
        for f in self.families:
            out = f.has("W_O") and not f.has(*OUTSIDE)
            by_name = "{layer}" in f.pattern or (not numbered and bool(letters(f.pattern) or out))
            f.inside = whole(f.part)[:6] == "blocks" if f.part else by_name
            f.axes = f.axes.removeprefix("layer ")
            if len(shapes := {tuple(W.shape) for W in f.each.values()}) > 1:
                raise files.UserError(f"{f.pattern} has several shapes, {sorted(shapes)}")
            if not f.inside and f.ndim == 3 and 1 in f.shape[:2]:
                f.axes = TABLE[0]
            if f.ndim > 2 and not (f.inside and (f.part or letters(f.pattern))):
                f.each = {key: W.squeeze() for key, W in f.each.items()}
        self.inside = [f for f in self.families if f.inside]
        self.layers = sorted({layer for f in self.inside for layer, _ in f.each})
        n, n_said = len(self.layers), self.cfg.get("n_layers")
        for f in self.inside:
            if {layer for layer, _ in f.each} != {*self.layers} or len(f.each) % n:
                where = f"{f.pattern} is there for {sorted(f.each)} alone"
                raise files.UserError(f"the layers are {self.layers}, but {where}")
        in_a_row = self.layers in ([*range(n)], [*range(1, n + 1)])
        deep = [f for f in self.inside if f.ndim > 2 and not numbered]
        if n != n_said and (deep or not in_a_row):
            said = f"the layers are {self.layers} by their names, and there may be others, or an axis of them"
            parts = {f: f.part or "W_" + letters(f.pattern) for f in deep if f.ndim > 3}
            ways = (
                (of, f.pattern, f"layer {THEIRS.get(of, OF_HEADS[3])}") for f, of in parts.items()
            )
            raise self.unclear(f"{said}: config={{'n_layers': {n}}} says that these are all", *ways)

    def unclear(self, said: str, *ways: tuple[str, ...]) -> Unclear:
        """Refusal with every tensor and what it could be; `ways`: part, pattern, axes."""
        could = {f: f.part or f"could be {' or '.join(self._could_be(f))}" for f in self.families}
        lines = [f"  {f}: {of}" for f, of in could.items()] + [
            "One of these lines settles it:"
        ] * bool(ways)
        for part, *pattern in ways:
            lines.append(f"  names = {files.as_json({whole(part): ' '.join(pattern)})}")
        return Unclear("\n".join([f"{said}. The tensors:", *lines]))

    def _could_be(self, f: Family) -> list[str]:
        """Parts that it could be by its shape alone."""
        of_d = not self.d or self.d in f.shape
        if f.ndim > 1:
            every = ["W_Q", "W_K", "W_V", "W_O", "W_QKV"] if f.inside else [*OUTSIDE]
            return every if of_d else ["nothing that is known here"]
        if f.inside:
            return ["ln1.w", "ln1.b", "b_O"] if of_d else ["b_Q", "b_K", "b_V"]
        return ["ln_final.w", "ln_final.b"] if of_d else ["b_U"]

    def having(self, atom: str) -> list[Family]:
        """Families that are or have W_Q, say."""
        return [f for f in self.families if atom in f.atoms]

    def read(self) -> FoundWeights:
        self._width()
        self._by_words()
        self._by_what_is_left()
        self._require_each_once()
        self._layouts()
        made: dict[str, Tensor] = {}
        for f in self.families:
            for number, layer in enumerate(self.layers if f.inside else [0]):
                for part, W in self._split(f, f.of(layer)):
                    made[whole(part).format(layer=number)] = W
        tied, both = self.cfg.get("tie_word_embeddings"), ("embed.W_E", "unembed.W_U")
        there = [made[part] for part in both if part in made]
        if len(there) == 1 and tied is not False:
            made |= dict.fromkeys(both, there[0])
        elif len(there) < 2:
            raise self.unclear(f"W_E or W_U is missing, and tie_word_embeddings is {tied}")
        elif tied and not (there[0].shape == there[1].shape and torch.equal(*there)):
            raise files.UserError("tie_word_embeddings is true, but W_E and W_U are different")
        parts = {f.pattern: f"{whole(f.part)} {f.axes}".strip() for f in self.families}
        return FoundWeights(made, len(self.layers), parts, self.rotary_tables)

    def _width(self) -> None:
        """d_model, the side that all matrices have, and which tensors are tables of that width."""
        of_heads = [f for f in self.inside if f.ndim > 1 and (f.part or letters(f.pattern))]
        sides: set[int] = set()
        for f in of_heads + [f for f in self.families if not f.inside and f.ndim == 2]:
            if not has(f.pattern, "bias", last=True):
                sides = sides & {*f.shape} or sides or {*f.shape}
        if len(sides) > 1:
            of_norms = {f.shape[0] for f in self.families if f.ndim == 1 and f.has("norm")}
            sides = {self.cfg.get("d_model", 0)} & sides or of_norms & sides or sides
        if len(sides) != 1:
            could = " or ".join(sorted(map(str, sides))) or "nothing"
            raise self.unclear(f"d_model could be {could}; config={{'d_model': …}} says it")
        self.d = sides.pop()
        self.tables = [
            f for f in self.families if not f.inside and f.ndim == 2 and self.d in f.shape
        ]

    def _by_words(self) -> None:
        """What the words of its name say that a tensor is."""
        folders = [f.pattern.replace(".", "/") for f in self.families]
        common = os.path.commonpath(folders) if len(folders) > 1 else ""
        for f in (f for f in self.families if not f.part):
            own = f.pattern[len(common) :]  # "net.head." of all names tells nothing
            end = "b" if has(own, "bias", last=True) else "w" if has(own, "gain", last=True) else ""
            if f.inside and (of := letters(f.pattern)):
                f.part = ("b_" if end == "b" else "W_") + of
            elif f.shape == (self.d,) and f.has("norm") and end:
                if not has(own, "norm behind" if f.inside else "norm of tokens"):
                    f.part = f"{'ln1' if f.inside else 'ln_final'}.{end}"
            elif f in self.tables:
                by = ["W_pos"] if has(own, "W_pos") else []
                for of in reversed(re.split(r"[./]", own)):
                    by += [part for part in ("W_U", "W_E") if has(of, part)]
                f.part = next(iter(by), "")

    def _by_what_is_left(self) -> None:
        """Parts that only one tensor can be; MLPs are refused."""
        left = [f for f in self.inside if f.ndim > 1 and not f.part]
        attends = all(map(self.having, ("W_Q", "W_K", "W_V")))
        mlps = [f for f in self.inside if f.has("MLP") and f.part in ("", "W_O", "b_O")]
        if attends and len(left) + len(self.having("W_O")) > 2:
            mlps = mlps or [f for f in left if not f.has("W_O")]
        if mlps:
            raise files.UserError(
                f"there are MLPs, {', '.join(map(str, mlps[:4]))}, and only attention is taken apart "
                "here. What a model does can be asked of any function that makes logits of tokens: "
                "analysis.repeats.predictions(model, passages)"
            )
        if attends and len(left) == 1 and not self.having("W_O"):
            left[0].part = "W_O"
        left = [f for f in self.tables if not f.part]
        missing = [part for part in OUTSIDE if not self.having(part)]
        if len(left) == 1:  # a table, or as large as the other of both
            others = self.having("W_E") + self.having("W_U")
            alike = [{*f.shape} for f in others[:1]] == [{*left[0].shape}]
            of = [part for part in missing if (part != "W_pos") == alike]
            if len(of) == 1 and (alike or (missing == of and not left[0].has("added"))):
                left[0].part = of[0]
        [U] = (self.having("W_U") + self.having("W_E"))[:1] or [None]
        stems = {f.stem: f.part[2:] for f in self.inside if f.part[:2] == "W_"}
        of_tables = {f.stem for f in self.tables}
        for f in (f for f in self.families if not f.part and (f.inside or f.ndim == 1)):
            if f.inside and f.stem in stems:
                f.part = "b_" + stems[f.stem]
            elif U and not f.inside and f.shape[0] in U.shape:
                other = f.shape != (self.d,) and f.stem not in of_tables
                f.part = "b_U" if other or f.stem == U.stem else ""

    def _require_each_once(self) -> None:
        """Refuse parts of which there are none or several, and tensors that are no part."""
        for atom in dict.fromkeys(atom for f in self.families for atom in f.atoms):
            if len(same := self.having(atom)) > 1:
                ends = {re.sub(r"(\{layer\}.*?)\d+(?!.*\d)", r"\1{head}", f.pattern) for f in same}
                ends = ends if len(ends) == 1 else {f.pattern for f in same}
                ways = ((same[0].part, pattern) for pattern in sorted(ends))
                raise self.unclear(f"several tensors are {atom}", *ways)
        missing = [f"W_{x}" for x in "QKVO" if self.layers and not self.having(f"W_{x}")]
        left = [f for f in self.families if not f.part]
        if missing:
            ways = ((p, f.pattern) for f in left for p in missing if p in self._could_be(f))
            raise self.unclear(f"no tensor of the layers is {' or '.join(missing)} for sure", *ways)
        for f in left:
            parts = [p for p in self._could_be(f) if PART.fullmatch(p) and not self.having(p)]
            ways = ((part, f.pattern) for part in (*parts, "none"))
            raise self.unclear(f"what {f} is, nothing tells", *ways)

    def _layouts(self) -> None:
        """From matrix to matrix the numbers of heads and their widths, and so the layout of each."""
        heads = [f for f in self.inside if f.part[:2] == "W_"]
        heads.sort(key=lambda f: min("QKVO".index(x) for x in f.part[2:]))
        per_head = [f.shape[0] for f in heads if "{head}" in f.pattern and "Q" in f.part]
        self.n_heads: Any = self.cfg.get("n_heads") or (per_head or [None])[0]
        self.n_kv: Any = self.cfg.get("n_key_value_heads")
        if any({*"QK"} <= {*f.part} for f in heads):
            self.n_kv = self.n_kv or self.n_heads
        self.d_head: Any = self.cfg.get("d_head")
        fitting = {
            f: self._fitting(f) for f in heads + [f for f in self.families if f.part in OUTSIDE]
        }
        told: dict[str, set[bool]] = {}  # by those matrices of a kind whose shape tells
        for f in heads:
            ways = {_out_first(f.part, axes) for axes in fitting[f]}
            if f.ndim == 2 and len(ways) == 1:
                told.setdefault(f.kind, set()).update(ways)
        for f, fit in fitting.items():
            by_kind = {f.kind != "kernel"} if f.kind else {True, False}
            if f.kind != "kernel" and f.part not in OUTSIDE:
                by_kind = told.get(f.kind, by_kind)
            f.axes = self._settled(f, fit, by_kind)
        for f in self.inside:
            if f.part[:2] == "b_" and f.part != "b_O":
                weights = [g.axes for g in heads if g.part[2:] == f.part[2:]]
                axes = f.axes or [*weights, (JOINED, OF_HEADS)[len(f.part) < 4][0]][0]
                # A bias has the order of its matrix, whether or not it has the axes.
                f.axes = f"({re.sub(r'd_model|[()]', '', axes).strip()})"

    def _known(self, part: str) -> dict[str, int | None]:
        """Sizes of the names in a layout, as far as they are known."""
        if part in OUTSIDE:
            return {"d_model": self.d}
        n, heads = len(part) - 2, self.n_heads if {*"QO"} & {*part} else self.n_kv
        if n == 3 and self.n_kv != self.n_heads:  # groups: heads of all three in a row
            n, heads = 1, self.n_heads + 2 * self.n_kv
        return {"d_model": self.d, "qkv": n, "head": heads, "d_head": self.d_head}

    def _fitting(self, f: Family) -> list[str]:
        """Layouts that its shape allows; sizes that it tells are kept."""
        every = TABLE if f.part in OUTSIDE else JOINED if len(f.part) > 3 else OF_HEADS
        first = "head " if "{head}" in f.pattern else ""
        layouts = [axes for axes in ([f.axes] if f.axes else every) if axes.startswith(first)]
        if every != TABLE and self.n_heads is None and f.ndim < 3:
            raise self.unclear("no shape says how many heads there are: config={'n_heads': …}")
        known = self._known(f.part)
        found = {axes: of for axes in layouts if (of := _solved(axes, f.shape, known))}
        if not found:
            said = {name: size for name, size in known.items() if size}
            raise self.unclear(f"{f} cannot be {f.part}, with {said}")
        one = next(iter(found.values()))
        self.d_head = one.get("d_head", self.d_head)
        self.n_heads = self.n_heads or ("Q" in f.part and one["head"]) or None
        self.n_kv = self.n_kv or ("K" in f.part and one["head"]) or None
        lens = THEIRS.get(f.part, "head d_model d_head")
        return [lens] if f.pattern == whole(f.part) and lens in found else [*found]

    def _settled(self, f: Family, left: list[str], out_first: set[bool]) -> str:
        """Layout of a matrix, by the conventions that count; with several the file is refused."""
        asked = len(f.atoms) > 1 and not f.axes
        if asked and (self.n_heads == 1 or IN_BLOCKS.fullmatch(f.pattern.replace(".{layer}", ""))):
            # With one head no order of heads is another.
            left, asked = [axes for axes in left if "head qkv" not in axes], False
        if len(left) > 1 and f.ndim == 2:
            left = [axes for axes in left if _out_first(f.part, axes) in out_first]
        if len(left) > 1 or asked:
            said = f"{f} could be {f.part} in {len(left)} layouts, with different logits"
            raise self.unclear(said, *((f.part, f.pattern, axes) for axes in left))
        return left[0]

    def _split(self, f: Family, W: Tensor) -> Iterator[tuple[str, Tensor]]:
        """Each part of a tensor: matrices of heads as [head, d_head, d_model], their biases [head, d_head]."""
        kind, which = f.part[:2], f.part[2:]
        if f.part in OUTSIDE:
            yield f.part, rearrange(W, f"{f.axes} -> n d_model")
            return
        if kind not in ("W_", "b_") or not f.axes:
            yield f.part, W.flatten()
            return
        W = W if kind == "W_" else W.flatten()
        sizes = _solved(f.axes, tuple(W.shape), self._known(f.part))
        if sizes is None:
            raise self.unclear(f"{f} does not fit {f.part}, {f.axes}")
        used = {name: n for name, n in sizes.items() if re.search(rf"\b{name}\b", f.axes)}
        after = f"({'qkv ' * (len(which) > 1)}head) d_head" + " d_model" * (kind == "W_")
        heads = rearrange(W, f"{f.axes} -> {after}", **used)
        n = [self.n_heads if x in "QO" else self.n_kv for x in which]
        yield from zip((kind + x for x in which), heads.split(n), strict=True)


def _no_weight(name: str, W: Tensor) -> bool:
    """Whether it is a causal mask or a count of places, by its numbers; a mask of another kind is refused."""
    if W.layout != torch.strided or W.is_meta or W.is_quantized or W.is_complex():
        return False
    if W.ndim == 0:
        return bool(W <= -1e4)
    if not W.is_floating_point() and torch.equal(W.flatten(), torch.arange(W.numel()).to(W)):
        return True
    n = W.shape[-1]
    if n > 1 and W.shape[-2:] == (n, n) and W.numel() == n * n:
        later = torch.ones(n, n).triu(1).bool()
        seen, unseen = W.reshape(n, n)[~later].unique(), W.reshape(n, n)[later].unique()
        if len(seen) == len(unseen) == 1 and seen != unseen:
            return True
    if W.dtype == torch.bool or re.search(r"mask$", name):
        raise files.UserError(
            f"{name} is a mask, but not the one with which a place sees all before it"
        )
    return False


def _out_first(part: str, axes: str) -> bool:
    """Whether a layout has what is written, or the rows of a table, before what is read."""
    if part in OUTSIDE:
        return axes == TABLE[0]
    return (axes.index("d_model") < axes.index("d_head")) == (part == "W_O")


def _solved(
    axes: str, shape: tuple[int, ...], known: Mapping[str, int | None]
) -> dict[str, int] | None:
    """Size of each name in a layout, if a shape allows it; at most one in each axis may be unknown."""
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


def read(given: Mapping[str, Tensor], cfg: Mapping[str, Any], names: Names) -> FoundWeights:
    """Weights of a checkpoint by the names of parts.

    `cfg`: settings by the names of `their_settings`. `names`: which tensors are which parts, where that is said.

    Raises:
        UserError: if there are MLPs, or something that no model here has.
        Unclear: if more than one reading fits.
    """
    return _Reader(given, cfg, names).read()
