import pytest

from transformer_circuits.exercises import Exercise


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
    exercise = Exercise(lambda n: n == 1, wrong=[2, 3])
    exercise.solve(1)
    with pytest.raises(AssertionError, match="refused by its own exercise: 2"):
        exercise.solve(2)
