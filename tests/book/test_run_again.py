"""A cell that is run again shows what it showed before: no later cell changes what it reads."""

import ast
from pathlib import Path

import nbformat
import pytest

CHAPTERS = sorted((Path(__file__).parents[2] / "chapters").glob("*.ipynb"))
IN_PLACE = {"append", "extend", "insert", "update", "add", "pop", "remove", "clear", "setdefault"}
IN_PLACE |= {"sort", "reverse", "discard"}
DRAWS = {"rand", "randn", "randint", "randperm", "normal", "multinomial", "bernoulli"}
DRAWS |= {"rand_like", "randn_like", "randint_like"}


def names_in(*nodes):
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


class Cell(ast.NodeVisitor):
    """What a cell takes from other cells, binds, changes and draws."""

    def __init__(self, source="", bound=(), called_later=False):
        self.called_later = called_later
        self.bound, self.taken = set(bound), set()
        self.changed, self.draws = set(), set()
        self.visit(ast.parse(source))

    def visit_Name(self, node):
        if isinstance(node.ctx, ast.Load):
            self.taken |= {node.id} - self.bound
        else:
            self.bound.add(node.id)

    def changes(self, node):
        """`node` belongs to, or is, a name; who bound it?"""
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name):
            self.changed |= {node.id} - self.bound

    def visit_Attribute(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.changes(node)
        self.generic_visit(node)

    visit_Subscript = visit_Attribute  # noqa: N815

    def visit_Assign(self, node):
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node):
        self.visit(node.value)
        self.changes(node.target)
        self.taken |= names_in(node.target) - self.bound
        self.visit(node.target)

    def visit_For(self, node):
        self.visit(node.iter)
        self.visit(node.target)
        for statement in node.body + node.orelse:
            self.visit(statement)

    def inside(self, own, called_later, *nodes):
        """A comprehension or a function, with names of its `own`; a function forgets the cell's."""
        forgets = called_later and not self.called_later
        inner = Cell("", own if forgets else self.bound | own, called_later or self.called_later)
        for node in nodes:
            inner.visit(node)
        for what in ("taken", "changed", "draws"):
            getattr(self, what).update(getattr(inner, what))

    def visit_ListComp(self, node):
        own = names_in(*(part.target for part in node.generators))
        values = [getattr(node, f) for f in ("elt", "key", "value") if hasattr(node, f)]
        parts = [p for g in node.generators for p in (g.iter, *g.ifs)]
        self.inside(own, False, *parts, *values)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp  # noqa: N815

    def visit_FunctionDef(self, node):
        """It reads when it is called, by any later cell: what it reads is taken, too."""
        own = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        body = node.body if isinstance(node.body, list) else [node.body]
        self.inside(own, True, *node.args.defaults, *body)
        self.bound |= {node.name} if isinstance(node, ast.FunctionDef) else set()

    visit_Lambda = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node):
        """Its methods are reached through it: the cell binds the class alone."""
        self.inside(set(), False, *node.bases, *node.body)
        self.bound.add(node.name)

    def visit_ImportFrom(self, node):
        self.bound |= {(a.asname or a.name).split(".")[0] for a in node.names}

    visit_Import = visit_ImportFrom  # noqa: N815

    def visit_Call(self, node):
        if isinstance(node.func, ast.Attribute):
            method, owner = node.func.attr, node.func.value
            if method in IN_PLACE or method.endswith("_"):
                self.changes(owner)
            if method in DRAWS and not any(k.arg == "generator" for k in node.keywords):
                self.draws.add(method)
        self.generic_visit(node)


def traps(sources):
    """What is wrong with a notebook's cells, in words."""
    cells = [Cell(source) for source in sources]
    bound = [name for cell in cells for name in cell.bound]
    found = []
    for cell in cells:
        found += [f"{name} is bound in two cells" for name in cell.taken if bound.count(name) > 1]
        found += [f"{name} is changed by another cell" for name in cell.changed]
        found += [f"{draw} without generator" for draw in cell.draws]
        found += ["another cell draws from this generator"] * ("generator" in cell.taken)
    return found


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_cell_that_is_run_again_shows_what_it_showed(path):
    cells = nbformat.read(path, 4).cells
    assert traps([cell.source for cell in cells if cell.cell_type == "code"][1:]) == []


@pytest.mark.parametrize(
    ("wrong", "cells"),
    [
        ("a is bound in two cells", ["a = 1", "print(a)", "a = 2"]),
        ("a is bound in two cells", ["a = 1", "a = a + 1", "print(a)"]),
        ("a is bound in two cells", ["a = 1\nf = lambda: a", "print(f())", "for a in '12':\n  a"]),
        ("a is changed by another cell", ["a = []", "a.append(1)"]),
        ("a is changed by another cell", ["a = [1]", "a[0] = 2", "print(a)"]),
        ("a is changed by another cell", ["a = f()", "a.b.c[1].zero_()"]),
        ("a is changed by another cell", ["a = [1]", "a += [2]", "print(a)"]),
        ("randn without generator", ["print([torch.randn(2) for _ in range(2)])"]),
        ("another cell draws from this generator", ["generator = 1", "draw(generator)"]),
    ],
)
def test_every_trap_is_found(wrong, cells):
    assert wrong in traps(cells)


def test_names_of_a_cells_own_are_no_trap():
    rows = "rows = []\nfor k in range(3):\n    rows.append(k)\nprint(rows)"
    function = "def f(x):\n    y = [x for x in x]\n    return y\n\nprint(f([1]))"
    assert traps([rows, rows, function, "print([k for k in range(3)], [r for r in [1]])"]) == []
