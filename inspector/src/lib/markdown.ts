/**
 * Markdown of an agent into HTML that can do no harm: text, tables, lists, code, and nothing that loads or runs.
 *
 * What an agent writes is hostile until shown otherwise (it may repeat a web page). Raw HTML is shown as
 * text, images become their description with the address beside it, links must be http(s) or mailto and open
 * elsewhere; DOMPurify then allows a short list of elements and attributes, so that a mistake above it is harmless.
 *
 * An answer is rendered block by block: while it streams, only its last block is rendered again.
 */

import DOMPurify, { type Config } from "dompurify";
import { Marked, type Token, type Tokens } from "marked";
import { highlight } from "./highlight";

/** Attributes that are words and no addresses; DOMPurify tests every other one as an address. */
const WORDS = ["align", "aria-checked", "aria-label", "class", "rel", "role", "start", "tabindex", "target", "title"];

const ALLOWED: Config = {
  ALLOWED_TAGS: [
    "a", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p",
    "pre", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
  ],
  ALLOWED_ATTR: ["href", ...WORDS],
  ADD_URI_SAFE_ATTR: WORDS,
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
};

const marked = new Marked({ gfm: true, breaks: false });
marked.use({
  renderer: {
    html: ({ text }) => escaped(text),
    image: ({ href, text }) => `<span class="picture-link">${escaped(text || "image")} ${link(href, escaped(href))}</span>`,
    link({ href, tokens }) {
      return link(href, this.parser.parseInline(tokens));
    },
    code: ({ text, lang }) => codeBlock(text, lang),
    checkbox: ({ checked }) =>
      `<span class="tick" role="checkbox" aria-checked="${checked}" aria-label="${checked ? "done" : "to do"}">${checked ? "☑" : "☐"}</span> `,
    table(token) {
      const cells = (row: Tokens.TableCell[], tag: string) =>
        `<tr>${row.map((cell) => `<${tag}${cell.align ? ` align="${cell.align}"` : ""}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`;
      const body = token.rows.map((row) => cells(row, "td")).join("");
      return `<div class="table" role="region" aria-label="table" tabindex="0"><table><thead>${cells(token.header, "th")}</thead><tbody>${body}</tbody></table></div>`;
    },
  },
});

function link(href: string, inside: string): string {
  return /^(?:https?:|mailto:)/i.test(href) ? `<a href="${escaped(href)}" rel="noopener noreferrer nofollow" target="_blank">${inside}</a>` : inside;
}

function codeBlock(text: string, language: string | undefined): string {
  const name = language?.trim().split(/\s/)[0] ?? "";
  const label = name ? ` aria-label="${escaped(name)} code"` : ' aria-label="code"';
  return `<div class="code"><pre role="region" tabindex="0"${label}><code>${highlight(text, name) ?? escaped(text)}</code></pre></div>\n`;
}

export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}

export interface Block {
  raw: string;
  html: string;
}

/** The blocks of a text; those of `before` that are still the same are taken over as they are. */
export function blocks(source: string, before: Block[] = []): Block[] {
  const text = source.replace(/\r\n|[\u2028\u2029]/g, "\n");
  const kept = unchanged(text, before);
  const from = kept.reduce((sum, block) => sum + block.raw.length, 0);
  return [...kept, ...rendered(text.slice(from))];
}

/** All but the last two: whatever comes next may still join a list, a table, a fence or a heading's underline. */
function unchanged(text: string, before: Block[]): Block[] {
  let at = 0;
  const kept: Block[] = [];
  for (const block of before.slice(0, -2)) {
    if (!text.startsWith(block.raw, at)) break;
    kept.push(block);
    at += block.raw.length;
  }
  return kept;
}

function rendered(text: string): Block[] {
  const tokens = marked.lexer(text);
  const links = tokens.links;
  return tokens.map((token: Token) => {
    const html = marked.parser(Object.assign([token], { links }) as unknown as Token[]);
    return { raw: token.raw, html: clean(html) };
  });
}

/** The last gate, whatever made the HTML. */
export function clean(html: string): string {
  return DOMPurify.sanitize(html, ALLOWED);
}
