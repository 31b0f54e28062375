"""Words in scripts that put no spaces between them, so that search finds each of them.

The index cuts text where no letter stands. A sentence in Chinese or Japanese would be one word to it, and a Korean word
would be found only with its endings. So each character of theirs stands alone in what is indexed, and what is searched
for is a phrase of such characters.
"""

import re

GAP = "\u200b"
"""The zero-width space: no letter, and nothing to see in a snippet."""

_ALONE = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_GAPS = re.compile(rf"(?<=[{_ALONE}])(?=\w)|(?<=\w)(?=[{_ALONE}])")


def spaced(text: str) -> str:
    return text if text.isascii() else _GAPS.sub(GAP, text)
