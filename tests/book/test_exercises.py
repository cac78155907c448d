import math

import numpy as np
import pytest
import torch

from transformer_circuits.book.exercises import Exercise, agrees, as_tensor, watched, whole_number


def test_it_tells_right_from_wrong(capsys):
    exercise = Exercise(lambda n: n * n == 4 and n > 0, wrong=[-2, 3])
    for answer in (2, 3, ..., "two", None):
        exercise.check(answer)
    assert capsys.readouterr().out.split("\n")[:-1] == [
        "✓ right", "✗ not yet", "… no answer yet",
        "✗ not yet: TypeError: can't multiply sequence by non-int of type 'str'",
        "✗ not yet: TypeError: unsupported operand type(s) for *: 'NoneType' and 'NoneType'",
    ]  # fmt: skip


def test_a_function_that_is_not_written_yet_is_no_answer(capsys):
    exercise = Exercise(lambda f: f(2) == 4, wrong=[lambda x: 2, lambda x: -4])
    for answer in (lambda x: ..., lambda x: x * x, lambda x: x):
        exercise.check(answer)
    said = capsys.readouterr().out
    assert said == "… no answer yet\n✓ right\n✗ not yet\n"


def test_an_answer_that_raises_is_wrong():
    exercise = Exercise(lambda f: f(0) == 1, wrong=[lambda x: x, lambda x: 1 / x])
    assert exercise.accepts(lambda x: 1) and not exercise.accepts(7)


def test_an_exercise_that_accepts_a_wrong_answer_cannot_be_set():
    with pytest.raises(ValueError, match=r"accepts wrong answers: \[3\]"):
        Exercise(lambda n: n is not None and n != () and n > 1, wrong=[1, 3])
    with pytest.raises(ValueError, match="accepts wrong answers"):
        Exercise(lambda n: True, wrong=[1, 2])
    with pytest.raises(ValueError, match="1 wrong answers given"):
        Exercise(lambda n: n == 1, wrong=[2])


def test_a_wrong_solution_stops_the_chapter(capsys):
    exercise = Exercise(lambda n: n in (4, 5), wrong=[2, 3])
    exercise.solve(4, 5)
    assert capsys.readouterr().out == "✓ right\n"
    with pytest.raises(AssertionError, match="refused by its own exercise: 2"):
        exercise.solve(4, 2)


def test_an_exercise_that_takes_a_truth_value_for_a_number_cannot_be_set():
    size = torch.tensor([3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"accepts wrong answers: \[True, False\]"):
        Exercise(lambda h: (size[h] <= size).all() and h >= 0, wrong=[0, 2])


@pytest.mark.parametrize("kind", [bool, np.bool_, torch.tensor], ids=lambda kind: kind.__name__)
def test_a_truth_value_counts_in_every_type(kind):
    exercise = Exercise(lambda f: f(2) is True and f(3) is False, wrong=[lambda n: n, bool])
    assert exercise.accepts(lambda n: kind(n == 2))
    assert not exercise.accepts(lambda n: kind(n == 3))


@pytest.mark.parametrize("kind", [float, np.float32, np.array, torch.tensor])
def test_a_number_counts_in_every_type(kind):
    exercise = Exercise({3: True}.get, wrong=[2, 4])
    assert exercise.accepts(kind(3)) and not exercise.accepts(kind(2))


def test_a_function_that_works_in_place_changes_nothing():
    weight, gains = torch.ones(2), [2, 3]

    def in_place(W, gains):
        W *= gains.pop()
        return W

    exercise = Exercise(
        lambda f: agrees(f(weight, gains), torch.full((2,), 3.0)),
        wrong=[lambda W, gains: W, lambda W, gains: W / 3],
    )
    assert exercise.accepts(in_place) and exercise.accepts(in_place)
    assert torch.equal(weight, torch.ones(2)) and gains == [2, 3]


@pytest.mark.parametrize(
    "answer",
    [
        torch.eye(2), torch.eye(2).half(), torch.eye(2).int(), torch.eye(2).bool(),
        torch.eye(2, requires_grad=True), np.eye(2), np.eye(2, dtype=np.float32)[::-1, ::-1],
        [[1, 0], [0, 1]], ((1.0, 0), (0, True)), [torch.tensor([1.0, 0]), torch.tensor([0, 1])],
        [[torch.tensor(1.0), 0], [0, np.int64(1)]],
    ],
    ids=repr,
)  # fmt: skip
def test_a_tensor_is_read_from_whatever_holds_its_numbers(answer):
    assert torch.equal(as_tensor(answer, (2, 2)), torch.eye(2).double())


def test_complex_numbers_that_are_real_but_for_rounding_are_read():
    assert agrees(np.diag([1, 2]) + 1e-9j, torch.diag(torch.tensor([1.0, 2.0])))
    assert agrees(torch.tensor(5 + 0j), 5)


@pytest.mark.parametrize(
    ("answer", "got"),
    [
        (torch.eye(3), r"numbers of shape \[3, 3\]"),
        (torch.eye(2) * 1j, r"complex numbers of shape \[2, 2\]"),
        (5, r"numbers of shape \[\]"),
        ("two", "'two'"),
        ([[1, 0], [1]], r"\[\[1, 0\], \[1\]\]"),
        (None, "None"),
    ],
)
def test_what_is_no_such_tensor_is_told_in_words(answer, got):
    with pytest.raises(ValueError, match=rf"numbers of shape \[2, 2\] are needed but got {got}$"):
        as_tensor(answer, (2, 2))


def test_a_number_where_one_is_needed():
    assert as_tensor(np.float32([2]), ()) == 2
    with pytest.raises(ValueError, match=r"^a number is needed but got numbers of shape \[2\]$"):
        agrees([1, 2], 3.0)


def test_float32_agrees_with_float64_and_what_was_meant_otherwise_does_not():
    third = torch.tensor([1.0, 318.0]).double() / 3
    assert agrees(torch.tensor([1.0, 318.0]) / 3, third)
    assert agrees((np.float32([1, 318]) / 3).tolist(), third)
    assert agrees(torch.tensor(318.0).sqrt(), math.sqrt(318))
    for wrong in (third * 1.001, third + 0.1, third * math.nan):
        assert not agrees(wrong, third)


@pytest.mark.parametrize("answer", [7, 7.0, np.int32(7), np.float32(7), torch.tensor(7)])
def test_a_whole_number_of_any_type_is_one(answer):
    number = whole_number(answer, 8)
    assert number == 7 and type(number) is int


@pytest.mark.parametrize(
    "answer", [9.1, True, torch.tensor(True), np.bool_(True), math.nan, math.inf, "9", [9], None]
)
def test_what_is_no_whole_number_is_told_in_words(answer):
    with pytest.raises(ValueError, match=r"^a whole number is needed but got "):
        whole_number(answer)


def test_the_reader_is_told_in_words_what_is_needed(capsys):
    Exercise(lambda n: whole_number(n, 12) == 7, wrong=[6, 8]).check(7.5)
    said = capsys.readouterr().out
    assert said == "✗ not yet: a whole number from 0 to 11 is needed but got 7.5\n"


@pytest.mark.parametrize("answer", [-1, 12])
def test_there_is_no_head_before_the_first_or_after_the_last(answer):
    with pytest.raises(ValueError, match=f"a whole number from 0 to 11 is needed but got {answer}"):
        whole_number(answer, 12)


def test_a_matrix_that_was_to_be_avoided_is_seen():
    tall, wide = torch.ones(9, 2), torch.ones(2, 9)
    assert watched(lambda X, Y: (Y @ X).trace(), 2)(tall, wide) == 18
    assert watched(lambda X, Y: torch.linalg.svd(X, full_matrices=False).S[0], 2)(tall, wide) > 0
    for dense in (
        lambda X, Y: (X @ Y).trace(),
        lambda X, Y: torch.einsum("ia,aj->ij", X, Y).trace(),
        lambda X, Y: (X[:, :, None] * Y).sum(),
        lambda X, Y: torch.linalg.svd(X).S[0],
    ):
        with pytest.raises(ValueError, match=r"builds a matrix .* too large"):
            watched(dense, 2)(tall, wide)
    for leaves in (lambda X, Y: X.numpy() @ Y.numpy(), lambda X, Y: np.asarray(X) @ np.asarray(Y)):
        with pytest.raises(ValueError, match="stay with tensors"):
            watched(leaves, 2)(tall, wide)
