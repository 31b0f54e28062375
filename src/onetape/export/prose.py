"""Markdown as HTML that can do nothing: no raw HTML, no pictures from elsewhere, links only to where a person would go."""

from collections.abc import Callable
from html import escape
from typing import Any

LINKS = ("http://", "https://", "mailto:")
MOST = 200_000
"""Longer texts are shown as they are: nobody writes that much Markdown by hand, and rendering takes its time."""


def renderer() -> Callable[[str], str]:
    from markdown_it import MarkdownIt  # needed for this format alone

    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    markdown.validateLink = lambda url: url.strip().lower().startswith(LINKS)  # type: ignore[method-assign]
    markdown.add_render_rule("link_open", _link)
    for name in ("td_open", "th_open"):
        markdown.add_render_rule(name, _cell)

    def render(text: str) -> str:
        return str(markdown.render(text)) if len(text) <= MOST else f"<pre>{escape(text)}</pre>"

    return render


def _link(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    tokens[at].attrSet("rel", "noopener noreferrer nofollow")
    return str(self.renderToken(tokens, at, options, env))


def _cell(self: Any, tokens: Any, at: int, options: Any, env: Any) -> str:
    """Alignment as a class: the page's policy lets no element bring a style of its own."""
    if style := tokens[at].attrs.pop("style", None):
        tokens[at].attrSet("class", str(style).removeprefix("text-align:"))
    return str(self.renderToken(tokens, at, options, env))
