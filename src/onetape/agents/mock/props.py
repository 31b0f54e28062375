"""Canned material for the scripts: nothing here is computed, so every run shows the same."""

MARKDOWN = """\
# A heading

Some *emphasis*, some **weight**, some `code`, a [link](https://example.com) and\u2028a line separator.

1. First
2. Second
   - nested

> A quotation.

| agent | lines |
|---|---:|
| one | 12 |
| two | 345 |

```python
def greet(name: str) -> str:
    return f"Hello, {name} — <b>not bold</b> & more"
```

- [x] done
- [ ] to do
"""

# A cassette, 48 by 30 pixels.
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAADAAAAAeAQAAAABC36BsAAAAXUlEQVR42mP4DwYMDQxAwAij5oPEfsKoOSBBS4a5IN5ONAoqh6phPkgQ"
    "SNX9/18HpCoMeOSAVKUBzzwgVTyB8xyCB5WDqoTqQzUMSv1gYJAHUr///78Pp1BdDfEKABCobqRwf6yzAAAAAElFTkSuQmCC"
)

HELLO = 'def main():\n    print("Hello")\n\n\nmain()\n'

HELLO_WRITTEN = """\
--- /dev/null
+++ hello.py
@@ -0,0 +1,5 @@
+def main():
+    print("Hello")
+
+
+main()
"""

HELLO_EDITS = (
    {"old": 'def main():\n    print("Hello")', "new": 'def main(name):\n    print(f"Hello, {name}")'},
    {"old": "\nmain()", "new": '\nmain("world")'},
)

HELLO_PATCHED = """\
--- hello.py
+++ hello.py
@@ -1,5 +1,5 @@
-def main():
-    print("Hello")
+def main(name):
+    print(f"Hello, {name}")
 
 
-main()
+main("world")
"""

NOTES_WRITTEN = """\
--- /dev/null
+++ notes.txt
@@ -0,0 +1 @@
+Permission was given.
"""
