"""No exercise has its answer in sight: neither the expression nor what the solution only reads off."""

import ast
import builtins
import copy
import itertools

import pytest

from transformer_circuits.book import notebooks


class Shape(ast.NodeTransformer):
    """An expression with every value that it only names replaced by `x`."""

    def visit(self, node):
        inner = node
        while isinstance(inner, ast.Attribute | ast.Subscript):
            inner = inner.value
        return ast.Name("x") if isinstance(inner, ast.Name) else super().generic_visit(node)


def shape(node):
    return ast.dump(Shape().visit(copy.deepcopy(node)))


def computed(tree):
    """Every operation that a check computes with, but for those in its wrong answers."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.keyword) and node.arg == "wrong"):
            if isinstance(node, ast.BinOp):
                yield node
            yield from computed(node)


def names(tree, kind):
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, kind)}


def in_sight(check, solution):
    """The answers of a solution that the check before it computes in the same way, or holds."""
    check, solution = ast.parse(check), ast.parse(solution)
    bound = set().union(*(names(node, ast.Store) for node in check.body))
    bound -= names(solution, ast.Store)
    (solve,) = (n for n in ast.walk(solution) if getattr(n, "attr", "") == "solve")
    (call,) = (n for n in ast.walk(solution) if isinstance(n, ast.Call) and n.func is solve)
    for answer in call.args:
        body = answer.body if isinstance(answer, ast.Lambda) else answer
        read = names(body, ast.Load) - set(dir(builtins))
        held = isinstance(answer, ast.Name | ast.Call) and read and read <= bound
        shapes = {shape(node) for node in computed(check)} if isinstance(body, ast.BinOp) else ()
        if held or shape(body) in shapes:
            yield ast.unparse(answer)


@pytest.mark.parametrize(
    "check, solution, seen",
    [
        ("e = E(lambda f: f(A) == A @ B[0])", "e.solve(lambda x, y: x @ y)", True),
        ("e = E(lambda f: f(A) == (A @ B).T)", "e.solve(lambda x, y: x @ y)", True),
        ("e = E(right, wrong=[lambda x, y: y @ x])", "e.solve(lambda x, y: x @ y)", False),
        ("e = E(lambda f: f(A) == steps(A, B))", "e.solve(lambda x, y: x @ y)", False),
        ("size = f()\ne = E(lambda h: all(size[h] <= size))", "e.solve(int(size.argmin()))", True),
        ("e = E(lambda h: all(g(h) <= g(k) for k in K))", "s = g(0)\ne.solve(int(s))", False),
        ("best = f()\ne = E(lambda h: h == best)", "e.solve(best)", True),
    ],
)
def test_what_is_in_sight_is_told_from_what_is_not(check, solution, seen):
    assert bool(list(in_sight(check, solution))) == seen


@pytest.mark.parametrize("chapter", notebooks.numbered())
def test_no_check_has_the_answer_in_sight(chapter):
    sources = notebooks.code(notebooks.read(notebooks.path(chapter)))
    pairs = [
        pair for pair in itertools.pairwise(sources) if pair[1].startswith("# @title Solution")
    ]
    assert pairs
    for check, solution in pairs:
        assert list(in_sight(check, solution)) == []
