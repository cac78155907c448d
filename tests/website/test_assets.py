"""What pages load."""

import json
import re
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from sphinxcontrib import katex

from transformer_circuits.model import cross_entropy, quantisation
from transformer_circuits.text import corpus, tokenizer
from transformer_circuits.training import checkpoint
from website import assets
from website.live import weights


def test_what_pages_load_is_served(tmp_path):
    """Scripts of ours are bundled: one classic script, which a page from a file can load."""
    app = SimpleNamespace(outdir=tmp_path, builder=SimpleNamespace(format="html", name="html"))
    assets._serve(app)
    for script in {script for scripts in assets.NEEDED_BY.values() for script in scripts}:
        assert (tmp_path / "_static" / script).is_file(), script
    for name in assets.MODELS:
        assert (tmp_path / "_static" / "live" / f"{name}.js").is_file()
    for page in ("stage/page.js", "stage/hunt.js", "train/page.js"):
        bundled = (tmp_path / "_static" / page).read_text(encoding="utf-8")
        assert not re.search(r"^(import|export) ", bundled, re.MULTILINE)


LATE = """
import socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
time.sleep(0.5)
server.listen()
server.accept()[0].sendall(b"here")
time.sleep(60)
"""


def test_formulas_wait_until_their_server_listens(tmp_path, monkeypatch):
    """Once its file is there nobody may listen yet: a build failed by that."""

    def command(socket):
        return [sys.executable, "-c", LATE, str(socket)]

    monkeypatch.setattr(katex.KaTeXServer, "build_command", command)
    server, client = assets._start_katex(tmp_path, 30.0)
    with server, client:
        assert client.recv(4) == b"here"
        server.kill()


def test_a_busy_machine_has_a_minute_for_each_formula(monkeypatch):
    """The extension says five seconds."""
    for limit in ("STARTUP_TIMEOUT", "RENDER_TIMEOUT"):
        monkeypatch.setattr(katex, limit, 5.0)
    assets.setup(Mock())
    assert katex.STARTUP_TIMEOUT == katex.RENDER_TIMEOUT == 60


def test_formulas_do_not_wait_for_ever(tmp_path, monkeypatch):
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    monkeypatch.setattr(katex.KaTeXServer, "build_command", lambda socket: command)
    with pytest.raises(katex.KaTeXError, match=r"after 1.0 seconds"):
        assets._start_katex(tmp_path, 1.0)


@pytest.mark.parametrize("name", ["two-layer", "one-layer"])
def test_eight_bits_cost_less_than_a_hundredth_of_a_nat(name):
    model, text = checkpoint.load(name), corpus.tokens("small", "validation")
    exact, rounded = (
        cross_entropy.evaluate(m, text, 16) for m in (model, quantisation.rounded(model))
    )
    assert abs(float((rounded - exact).mean())) < 0.01


def test_the_vocabulary_can_stand_in_a_script():
    text = weights.vocabulary()
    assert "<" not in text
    assert len(json.loads(text)["labels"]) == tokenizer.load().get_vocab_size()
