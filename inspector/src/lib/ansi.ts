/**
 * What a terminal would show of a command's output, as runs of styled text.
 *
 * Colours and weights are kept; a carriage return starts its line again and a backspace takes a character
 * back, as progress bars expect. Cursor movements, titles, links and everything else a terminal obeys is
 * dropped: a transcript is read, not obeyed.
 */

export interface Style {
  fg?: string;
  bg?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Run extends Style {
  text: string;
}

// CSI, then OSC/DCS and their kin up to their terminator, then two-character escapes.
const ESCAPE = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b([0-?]*)[ -/]*([@-~])/g;

/** The runs of a whole output. */
export function ansi(text: string): Run[] {
  const lines: Run[][] = [[]];
  let style: Style = {};
  let from = 0;
  for (const found of text.matchAll(ESCAPE)) {
    write(lines, text.slice(from, found.index), style);
    from = found.index + found[0].length;
    if ((found[2] ?? found[4]) === "m") style = sgr(style, found[1] ?? found[3] ?? "");
  }
  write(lines, text.slice(from), style);
  return joined(lines);
}

/** The same without any style. */
export function plain(text: string): string {
  return ansi(text)
    .map((run) => run.text)
    .join("");
}

function write(lines: Run[][], text: string, style: Style): void {
  for (const piece of text.replaceAll("\r\n", "\n").split(/(\n|\r|\x08)/)) {
    const line = lines[lines.length - 1]!;
    if (piece === "\n") lines.push([]);
    else if (piece === "\r") line.length = 0;
    else if (piece === "\x08") backspace(line);
    else if (piece) line.push({ text: visible(piece), ...style });
  }
}

// What is left of the control characters has no look; a tab has.
function visible(text: string): string {
  return text.replace(/[\x00-\x07\x0b-\x1f\x7f]/g, "");
}

function backspace(line: Run[]): void {
  const last = line[line.length - 1];
  if (!last) return;
  last.text = last.text.slice(0, -1);
  if (!last.text) line.pop();
}

function joined(lines: Run[][]): Run[] {
  const runs: Run[] = [];
  lines.forEach((line, at) => {
    for (const run of at < lines.length - 1 ? [...line, { text: "\n" }] : line) {
      const last = runs[runs.length - 1];
      if (last && (run.text === "\n" || same(last, run))) last.text += run.text;
      else if (run.text) runs.push({ ...run });
    }
  });
  return runs;
}

const KEYS = ["fg", "bg", "bold", "dim", "italic", "underline", "strike", "inverse"] as const;

function same(one: Style, other: Style): boolean {
  return KEYS.every((key) => one[key] === other[key]);
}

const FLAGS: Record<number, Style> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  21: { underline: true },
  22: { bold: undefined, dim: undefined },
  23: { italic: undefined },
  24: { underline: undefined },
  27: { inverse: undefined },
  29: { strike: undefined },
  39: { fg: undefined },
  49: { bg: undefined },
};

function sgr(style: Style, parameters: string): Style {
  const codes = parameters.split(/[;:]/).map((code) => Number(code || 0));
  let now = style;
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!;
    if (code === 38 || code === 48) {
      const [colour, used] = extended(codes, at + 1);
      now = { ...now, [code === 38 ? "fg" : "bg"]: colour };
      at += used;
    } else now = code === 0 ? {} : { ...now, ...(FLAGS[code] ?? basic(code)) };
  }
  return now;
}

/** The sixteen named colours follow the page's theme: `ansi-3`, `ansi-11`. */
function basic(code: number): Style {
  if (code >= 30 && code <= 37) return { fg: `ansi-${code - 30}` };
  if (code >= 90 && code <= 97) return { fg: `ansi-${code - 82}` };
  if (code >= 40 && code <= 47) return { bg: `ansi-${code - 40}` };
  if (code >= 100 && code <= 107) return { bg: `ansi-${code - 92}` };
  return {};
}

function extended(codes: number[], at: number): [string | undefined, number] {
  if (codes[at] === 5) return [indexed(codes[at + 1] ?? 0), 2];
  if (codes[at] === 2) return [rgb(codes[at + 1] ?? 0, codes[at + 2] ?? 0, codes[at + 3] ?? 0), 4];
  return [undefined, 0];
}

function indexed(index: number): string {
  if (index < 16) return `ansi-${index}`;
  if (index >= 232) return rgb(8 + (index - 232) * 10, 8 + (index - 232) * 10, 8 + (index - 232) * 10);
  const step = (value: number) => (value ? 55 + value * 40 : 0);
  const cube = index - 16;
  return rgb(step(Math.floor(cube / 36)), step(Math.floor(cube / 6) % 6), step(cube % 6));
}

function rgb(red: number, green: number, blue: number): string {
  const byte = (value: number) => Math.max(0, Math.min(255, value | 0));
  return `rgb(${byte(red)} ${byte(green)} ${byte(blue)})`;
}
