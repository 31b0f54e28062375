"""A transcript for people: Markdown, one HTML file. Pure: events in, text out, as they come."""

from onetape.export.html import html
from onetape.export.markdown import markdown

__all__ = ["DOCUMENTS", "html", "markdown"]

DOCUMENTS = {"markdown": markdown, "html": html}
