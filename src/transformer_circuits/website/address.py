"""What leads to the repository: buttons and links on the pages, where `_config.yml` has its address.

Where it has none, nothing on a page sends a reader to fetch code from anywhere.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxRole

BUTTONS = (
    "use_repository_button",
    "use_issues_button",
    "use_edit_page_button",
    "use_source_button",
)
"""Options of the theme for buttons that need the address."""


class Repository(SphinxRole):
    """`{repository}`: the address, written out; the role's own text, where there is none."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not (address := self.config.html_theme_options.get("repository_url")):
            return [nodes.Text(self.text)], []
        # As code: the theme shortens addresses that stand for themselves, and on paper that is no use.
        return [nodes.reference("", "", nodes.literal("", address), refuri=address)], []


def without_buttons(options: dict) -> dict:
    """The theme's options: without the buttons that need an address, if they name none."""
    if options.get("repository_url"):
        return options
    return {name: value for name, value in options.items() if name != "launch_buttons"} | {
        name: False for name in BUTTONS
    }


def _configured(app, config) -> None:
    config.html_theme_options = without_buttons(config.html_theme_options)


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_role("repository", Repository())
    app.connect("config-inited", _configured)
    return {"parallel_read_safe": True}
