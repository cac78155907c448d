"""Where the repository has no address, nothing on a page leads to one."""

import re
from types import SimpleNamespace

import pytest
import yaml
from conftest import HTML, ROOT

from website import address

OPTIONS = {
    "use_download_button": True,
    "launch_buttons": {"colab_url": "https://colab.example.org"},
}


def written(url):
    """What the role of the handout becomes: a link, or its own words."""
    role = address.Repository()
    role.text = "in the folder"
    config = SimpleNamespace(html_theme_options={"repository_url": url})
    settings = SimpleNamespace(env=SimpleNamespace(config=config))
    role.inliner = SimpleNamespace(document=SimpleNamespace(settings=settings))
    return role.run()[0][0]


def test_pages_have_buttons_and_links_with_an_address_and_none_without():
    url = "https://example.org/some/book"
    options = OPTIONS | {"repository_url": url}
    assert address.buttons(options) == options | dict.fromkeys(address.BUTTONS, True)
    assert written(url)["refuri"] == url
    left = address.buttons(OPTIONS | {"repository_url": ""})
    assert left == {"repository_url": "", "use_download_button": True}
    assert written("").astext() == "in the folder" and "refuri" not in written("")


@pytest.mark.browser
def test_pages_lead_to_the_repository_only_where_it_has_an_address():
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    has = bool(config["repository"]["url"])
    for page in ("chapters/01-notation.html", "chapters/reference/errata.html"):
        text = (HTML / page).read_text(encoding="utf-8")
        leads = re.findall(r"colab\.research|mybinder\.org|fa-code-branch|/issues/new", text)
        assert bool(leads) == has, (page, leads)
