"""The sync client from the async one: the same words without waiting. A test keeps the file as this makes it."""

import re

WORDS = {
    "AsyncClient": "Client", "AsyncSession": "Session", "AsyncIterator": "Iterator", "AsyncGenerator": "Generator",
    "asynccontextmanager": "contextmanager", "aclosing": "closing",
    "__aenter__": "__enter__", "__aexit__": "__exit__", "aiter_raw": "iter_raw", "aread": "read", "aclose": "close", "asyncio": "time",
}  # fmt: skip
DOCSTRING = '"""The client for programs that wait. Made from aio.py by a test: change that one, then `pytest --rewrite`."""'


def without_waiting(source: str) -> str:
    _, _, rest = source.partition("\n")
    rest = re.sub(r"\b(async|await) ", "", rest)
    rest = re.sub(r"\b\w+\b", lambda word: WORDS.get(word[0], word[0]), rest)
    # `(await x)["y"]` needed its brackets, `(x)["y"]` does not.
    rest = re.sub(r"(?<=[ =(])\((self\.\w+\((?:[^()]|\([^()]*\))*\))\)(?=\[)", r"\1", rest)
    return f"{DOCSTRING}\n{rest}"
