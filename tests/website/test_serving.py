from transformer_circuits.website import serving


def test_every_mark_has_scripts_and_the_first_model_comes_with_its_page():
    for scripts in serving.NEEDED_BY.values():
        assert scripts
    live = serving.NEEDED_BY["<div data-live-model"]
    assert f"live/{next(iter(serving.LIVE_MODELS))}.js" in live
