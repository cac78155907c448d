from transformer_circuits import web


def test_every_mark_has_scripts_and_the_first_model_comes_with_its_page():
    for scripts in web.NEEDED_BY.values():
        assert scripts
    live = web.NEEDED_BY["<div data-live-model"]
    assert f"live/{next(iter(web.LIVE_MODELS))}.js" in live
