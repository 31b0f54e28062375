/** Everything that turns an agent's text into something to look at. */

import { expect, test } from "vitest";
import { ansi, plain } from "../src/lib/ansi";
import { parseDiff } from "../src/lib/diff";
import { age, cost, duration, shortPath, tokens } from "../src/lib/format";
import { blocks, clean } from "../src/lib/markdown";
import { mcpServers, words } from "../src/lib/mcp";
import { marked } from "../src/lib/snippet";
import { days, sum } from "../src/lib/usage";

const html = (text: string) => blocks(text).map((block) => block.html).join("");

// --- terminals ---

test("colours, weights and their end", () => {
  expect(ansi("a\x1b[1;31mb\x1b[0mc")).toEqual([{ text: "a" }, { text: "b", bold: true, fg: "ansi-1" }, { text: "c" }]);
  expect(ansi("\x1b[38;5;196mx\x1b[48;2;1;2;300my")).toEqual([{ text: "x", fg: "rgb(255 0 0)" }, { text: "y", fg: "rgb(255 0 0)", bg: "rgb(1 2 255)" }]);
  expect(ansi("\x1b[92mx\x1b[39my")).toEqual([{ text: "x", fg: "ansi-10" }, { text: "y", fg: undefined }]);
});

test("progress bars end as their last state", () => {
  expect(plain("10%\r50%\r100%\ndone")).toBe("100%\ndone");
  expect(plain("ab\x08c")).toBe("ac");
  expect(plain("a\r\nb")).toBe("a\nb");
});

test("what a terminal would obey is dropped", () => {
  expect(plain("\x1b]0;title\x07a\x1b[2J\x1b[10;10Hb\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")).toBe("ablink");
  expect(plain("a\x00\x07b\x1b")).toBe("ab");
});

// --- diffs ---

test("lines have their numbers, files' headers are not lines", () => {
  const diff = parseDiff("--- a\n+++ a\n@@ -3,3 +3,3 @@ def f\n one\n-two\n+2\n three\n\\ No newline at end of file\n");
  expect(diff.lines.map((line) => [line.kind, line.old, line.new])).toEqual([
    ["hunk", null, null],
    ["context", 3, 3],
    ["remove", 4, null],
    ["add", null, 4],
    ["context", 5, 5],
    ["note", null, null],
  ]);
  expect([diff.added, diff.removed]).toEqual([1, 1]);
});

test("a removed line that looks like a header is a line", () => {
  const diff = parseDiff("--- a\n+++ a\n@@ -1 +1 @@\n--- old\n+++ new\n");
  expect(diff.lines.slice(1).map((line) => line.pieces.map((piece) => piece.text).join(""))).toEqual(["-- old", "++ new"]);
});

test("what changed inside a line is marked", () => {
  const diff = parseDiff('@@ -1 +1 @@\n-print("Hello")\n+print("Hello, you")\n');
  expect(diff.lines[2]!.pieces).toEqual([
    { text: 'print("Hello', changed: false },
    { text: ", you", changed: true },
    { text: '")', changed: false },
  ]);
});

// --- Markdown ---

test("Markdown is rendered, code in colours", () => {
  expect(html("# Title\n\nsome *words*")).toContain("<h1>Title</h1>");
  expect(html("```python\ndef f(): pass\n```")).toContain("hljs-keyword");
  expect(html("| a | b |\n|--|-:|\n| 1 | 2 |")).toContain('<td align="right">2</td>');
  expect(html("- [x] done")).toContain('aria-checked="true"');
});

test.each([
  ["<script>alert(1)</script>", "script"],
  ["<img src=x onerror=alert(1)>", "img"],
  ["<iframe src='https://evil.example'></iframe>", "iframe"],
  ["<svg onload=alert(1)>", "svg"],
  ["<style>body{display:none}</style>", "style"],
  ["![pixel](https://evil.example/p.png)", "img"],
  ["<form action=https://evil.example><input></form>", "form"],
  ["`<b>`<b>bold</b>", "b"],
])("hostile %s makes no element %s", (text, tag) => {
  const page = document.createElement("div");
  page.innerHTML = html(text);
  expect(page.querySelector(tag)).toBeNull();
});

test.each(["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "java\tscript:alert(1)", "//evil.example"])("a link to %s is no link", (href) => {
  const page = document.createElement("div");
  page.innerHTML = html(`[click](${href}) [ref]\n\n[ref]: ${href}`) + clean(`<a href="${href}">x</a>`);
  expect([...page.querySelectorAll("a")].map((link) => link.getAttribute("href")).filter(Boolean)).toEqual([]);
});

test("a link opens elsewhere and tells nobody where from", () => {
  const page = document.createElement("div");
  page.innerHTML = html('[x](https://example.com "a title") https://plain.example');
  for (const link of page.querySelectorAll("a")) {
    expect(link.rel).toContain("noopener");
    expect(link.rel).toContain("noreferrer");
    expect(link.target).toBe("_blank");
  }
  expect(page.querySelectorAll("a")).toHaveLength(2);
});

test("attributes that act or hide are dropped by the last gate", () => {
  const page = document.createElement("div");
  page.innerHTML = clean('<p onclick="x()" style="position:fixed" id="page" name="x" data-x="1">a</p>');
  expect(page.firstElementChild!.attributes).toHaveLength(0);
});

test("streaming gives the same as the whole, and keeps what is finished", () => {
  const text = "# One\n\npara *two*\n\n- a\n- b\n\n```js\nlet x = 1;\n\nlet y;\n```\n\n1. x\n\n   inside\n2. y\n\nend";
  let drawn = blocks("");
  for (let at = 1; at <= text.length; at++) {
    const before = drawn;
    drawn = blocks(text.slice(0, at), before);
    const kept = drawn.filter((block) => before.includes(block));
    expect(kept.length).toBeGreaterThanOrEqual(Math.max(0, before.length - 2));
  }
  expect(drawn.map((block) => block.html)).toEqual(blocks(text).map((block) => block.html));
});

// --- numbers, servers, hits ---

test("numbers for people", () => {
  expect([0, 999, 1234, 45_678, 1_234_567, null].map(tokens)).toEqual(["0", "999", "1.23k", "45.7k", "1.23M", "–"]);
  expect([null, 0, 0.0028, 1.5, 1234].map(cost)).toEqual(["–", "$0", "$0.0028", "$1.50", "$1,234"]);
  expect([12, 1500, 61_000, 3_700_000].map(duration)).toEqual(["12 ms", "1.5 s", "1 min 1 s", "1 h 1 min"]);
  expect(age(0, 90_000)).toBe("1 min");
  expect(shortPath("/home/ada/work/demo")).toBe("…/work/demo");
});

test("MCP servers from a form", () => {
  expect(words(`npx "a b" 'c d' -x`)).toEqual(["npx", "a b", "c d", "-x"]);
  expect(mcpServers([{ name: " one ", kind: "local", target: "npx s" }, { name: "two", kind: "remote", target: "https://x" }, { name: "", kind: "local", target: "y" }])).toEqual({
    one: { type: "local", command: ["npx", "s"] },
    two: { type: "remote", url: "https://x" },
  });
});

test("found words are marked and never taken for HTML", () => {
  expect(marked("a <b>\u0002tape\u0003</b>\u0002here\u0003")).toEqual([{ text: "a <b>", hit: false }, { text: "tape", hit: true }, { text: "</b>", hit: false }, { text: "here", hit: true }]);
  expect(marked("nothing")).toEqual([{ text: "nothing", hit: false }]);
});

test("days have no gaps, sums leave nothing out", () => {
  const row = (key: string, costUsd: number | null) => ({ key, turns: 1, inputTokens: 1, outputTokens: 2, reasoningTokens: 1, cacheReadTokens: 3, cacheWriteTokens: 4, costUsd, unpricedTokens: 0 });
  const rows = [row("2026-01-03", 1), row("2026-01-05", null)];
  expect(days(rows, 7, new Date("2026-01-06T12:00:00Z")).map((day) => day.turns)).toEqual([0, 0, 0, 1, 0, 1, 0]);
  expect(sum(rows)).toMatchObject({ turns: 2, costUsd: 1, cacheReadTokens: 6 });
});
