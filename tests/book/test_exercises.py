import math

import numpy as np
import pytest
import torch

from transformer_circuits.book.exercises import Exercise, agrees, as_tensor, watched, whole_number


def test_it_tells_right_from_wrong_and_in_words_what_is_needed(capsys):
    exercise = Exercise(lambda n: whole_number(n, 12) == 7, wrong=[6, 8])
    for answer in (7, 6, ..., 7.5):
        exercise.check(answer)
    told = "a whole number from 0 to 11 is needed but got 7.5"
    said = ["✓ right", "✗ not yet", "… no answer yet", f"✗ not yet: {told}"]
    assert capsys.readouterr().out.splitlines() == said
    of_function = Exercise(lambda f: f(2) == 4, wrong=[lambda x: 2, lambda x: 1 / 0])
    for answer in (lambda x: ..., lambda x: x * x, lambda x: x):
        of_function.check(answer)
    assert capsys.readouterr().out == "… no answer yet\n✓ right\n✗ not yet\n"


def test_an_exercise_that_accepts_a_wrong_answer_cannot_be_set():
    with pytest.raises(ValueError, match=r"accepts wrong answers: \[3\]"):
        Exercise(lambda n: n is not None and n != () and n > 1, wrong=[1, 3])
    with pytest.raises(ValueError, match="1 wrong answers given"):
        Exercise(lambda n: n == 1, wrong=[2])
    size = torch.tensor([3.0, 1.0, 2.0])
    with pytest.raises(ValueError, match=r"accepts wrong answers: \[True, False\]"):
        Exercise(lambda h: (size[h] <= size).all() and h >= 0, wrong=[0, 2])


def test_a_wrong_solution_stops_the_chapter(capsys):
    exercise = Exercise(lambda n: n in (4, 5), wrong=[2, 3])
    exercise.solve(4, 5)
    assert capsys.readouterr().out == "✓ right\n"
    with pytest.raises(AssertionError, match="refused by its own exercise: 2"):
        exercise.solve(4, 2)


def test_what_a_reader_changed_may_make_a_solution_wrong_and_a_wrong_answer_right(
    capsys, in_a_notebook
):
    """Both depend on the model, the seed or the text that the exercise asks about."""
    exercise = Exercise(lambda n: n in (4, 5), wrong=[4, 2])
    exercise.solve(6)
    exercise.check(5)
    said = capsys.readouterr().out.splitlines()
    assert [line[:1] for line in said] == ["✗", "✗", "✓"]
    assert "accepts wrong answers: [4]" in said[0] and "refused by its own exercise: 6" in said[1]
    with pytest.raises(ValueError, match="1 wrong answers given"):
        Exercise(lambda n: n == 1, wrong=[2])


@pytest.mark.parametrize("kind", [float, np.float32, np.array, torch.tensor])
def test_a_number_and_a_truth_value_count_in_every_type(kind):
    exercise = Exercise({3: True}.get, wrong=[2, 4])
    assert exercise.accepts(kind(3)) and not exercise.accepts(kind(2))
    kind = {float: bool, np.float32: np.bool_}.get(kind, kind)
    exercise = Exercise(lambda f: f(2) is True and f(3) is False, wrong=[lambda n: n, bool])
    assert exercise.accepts(lambda n: kind(n == 2)) and not exercise.accepts(lambda n: kind(n == 3))


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
        torch.eye(2, requires_grad=True), torch.eye(2).bool(), np.eye(2, dtype=np.float32)[::-1, ::-1],
        ((1.0, 0), (0, True)), [torch.tensor([1.0, 0]), torch.tensor([0, 1])],
        [[torch.tensor(1.0), 0], [0, np.int64(1)]], np.eye(2) + 1e-9j,
    ],
    ids=repr,
)  # fmt: skip
def test_a_tensor_is_read_from_whatever_holds_its_numbers(answer):
    assert torch.equal(as_tensor(answer, (2, 2)), torch.eye(2).double())


@pytest.mark.parametrize(
    ("answer", "shape", "told"),
    [
        (torch.eye(3), (2, 2), r"numbers of shape \[2, 2\] are needed but got numbers of shape \[3, 3\]"),
        (torch.eye(2) * 1j, (2, 2), r"numbers .* got complex numbers of shape \[2, 2\]"),
        ("two", (2, 2), "numbers .* got 'two'"),
        ([[1, 0], [1]], (2, 2), r"numbers .* got \[\[1, 0\], \[1\]\]"),
        ([1, 2], (), r"a number is needed but got numbers of shape \[2\]"),
    ],
)  # fmt: skip
def test_what_is_no_such_tensor_is_told_in_words(answer, shape, told):
    with pytest.raises(ValueError, match=f"^{told}$"):
        as_tensor(answer, shape)


def test_float32_agrees_with_float64_and_what_was_meant_otherwise_does_not():
    third = torch.tensor([1.0, 318.0]).double() / 3
    assert agrees((np.float32([1, 318]) / 3).tolist(), third)
    assert agrees(torch.tensor(318.0).sqrt(), math.sqrt(318))
    for wrong in (third * 1.001, third + 0.1, third * math.nan):
        assert not agrees(wrong, third)


@pytest.mark.parametrize("answer", [7, 7.0, np.float32(7), torch.tensor(7), torch.tensor([7])])
def test_a_whole_number_of_any_type_is_one(answer):
    assert type(whole_number(answer, 8)) is int


@pytest.mark.parametrize(
    "answer", [9.1, True, torch.tensor(True), np.bool_(True), math.nan, "9", [9], None, -1, 12]
)
def test_what_is_no_whole_number_or_no_head_is_refused(answer):
    with pytest.raises(ValueError, match="a whole number from 0 to 11 is needed but got "):
        whole_number(answer, 12)


def test_a_matrix_that_was_to_be_avoided_is_seen():
    tall, wide = torch.ones(9, 2), torch.ones(2, 9)
    assert watched(lambda X, Y: (Y @ X).trace(), 2)(tall, wide) == 18
    assert watched(lambda X, Y: torch.linalg.svd(X, full_matrices=False).S[0], 2)(tall, wide) > 0
    for dense in (lambda X, Y: (X @ Y).trace(), lambda X, Y: torch.linalg.svd(X).S[0]):
        with pytest.raises(ValueError, match=r"builds a matrix .* too large"):
            watched(dense, 2)(tall, wide)
    with pytest.raises(ValueError, match="stay with tensors"):
        watched(lambda X, Y: X.numpy() @ Y.numpy(), 2)(tall, wide)
