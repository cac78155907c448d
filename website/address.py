"""Links to the repository: buttons and links on the pages, where `_config.yml` has its address.

Without one, nothing on a page sends a reader to fetch code from anywhere.
"""

from docutils import nodes
from sphinx.util.docutils import SphinxRole

BUTTONS = ("use_repository_button", "use_issues_button")
"""Options of the theme for buttons that need the address; Jupyter Book refuses them without one."""


class Repository(SphinxRole):
    """Role `{repository}`: the address, written out; the role's own text, where there is none."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        if not (address := self.config.html_theme_options.get("repository_url")):
            return [nodes.Text(self.text)], []
        # As code: the theme shortens addresses that stand for themselves, and on paper that is no use.
        return [nodes.reference("", "", nodes.literal("", address), refuri=address)], []


def buttons(options: dict) -> dict:
    """Options of the theme, with the buttons that an address makes possible, or with none.

    An explicit option for a button stays.
    """
    if options.get("repository_url"):
        return dict.fromkeys(BUTTONS, True) | options
    return {name: value for name, value in options.items() if name != "launch_buttons"}


def _configured(app, config) -> None:
    config.html_theme_options = buttons(config.html_theme_options)


def _without_brands(app, pagename, templatename, context, doctree) -> None:
    """Draw the repository's button with a common icon: a font for that one logo weighs 118 kB."""
    for group in context.get("header_buttons", ()):
        for button in (group, *group.get("buttons", ())):
            if button.get("icon", "").startswith("fab "):
                button["icon"] = "fas fa-code-branch"


def setup(app) -> dict[str, bool]:
    """Entry point for Sphinx."""
    app.add_role("repository", Repository())
    app.connect("config-inited", _configured)
    app.connect("html-page-context", _without_brands, priority=600)  # after the theme
    return {"parallel_read_safe": True}
