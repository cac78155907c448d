import nbformat
import pytest
import torch

from transformer_circuits import book


def test_a_claim_that_holds_is_shown_and_one_that_does_not_stops(capsys, monkeypatch):
    monkeypatch.delitem(book.sys.modules, "IPython", raising=False)
    book.check("two is even", 2 % 2 == 0)
    assert capsys.readouterr().out == "✓ two is even\n"
    with pytest.raises(AssertionError, match="does not hold: three is even"):
        book.check("three is even", torch.tensor(3) % 2 == 0)


def test_a_claim_needs_one_truth_value():
    with pytest.raises(ValueError, match=r"one truth value but got \(2,\)"):
        book.check("both", torch.tensor([True, False]))


def test_close_does_not_broadcast():
    assert book.close(torch.ones(2), torch.ones(2) + 1e-12)
    assert not book.close(torch.ones(2), torch.ones(2) + 1e-6)
    with pytest.raises(ValueError, match=r"shapes differ: \(2,\) and \(2, 2\)"):
        book.close(torch.ones(2), torch.ones(2, 2))


def test_the_repository_address_comes_from_the_configuration(tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text("repository:\n  url: https://example.org/some/book\n")
    assert '"https://example.org/some/book"' in book.first_cell(config)
    config.write_text("title: none\n")
    with pytest.raises(ValueError, match="no repository url"):
        book.first_cell(config)


def test_only_chapters_without_evidence_are_run(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(book.claims, "missing", lambda: [])
    book.run_missing()
    assert capsys.readouterr().out == "every chapter was run with this code\n"


def test_a_missing_chapter_is_run_and_a_failing_one_is_named(monkeypatch, capsys, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "chapters").mkdir()
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell("open('written', 'w').write('x')")]
    nbformat.write(notebook, tmp_path / "chapters" / "some.ipynb")
    monkeypatch.setattr(book.files, "data_dir", lambda: tmp_path / "data")
    monkeypatch.setattr(book.claims, "missing", lambda: ["some"])
    book.run_missing()
    assert (tmp_path / "chapters" / "written").read_text() == "x"
    assert capsys.readouterr().out == "1 chapters were run now: some\n"
    notebook.cells[0].source = "1 / 0"
    nbformat.write(notebook, tmp_path / "chapters" / "some.ipynb")
    with pytest.raises(RuntimeError, match="some fails: "):
        book.run_missing()
