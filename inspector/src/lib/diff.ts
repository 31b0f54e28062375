/**
 * A unified diff as lines with their numbers, and what changed inside a line.
 *
 * Reads, never applies. A line it cannot place is context, so that nothing of a diff is hidden.
 */

export interface Piece {
  text: string;
  changed: boolean;
}

export interface DiffLine {
  kind: "add" | "remove" | "context" | "hunk" | "note";
  old: number | null;
  new: number | null;
  pieces: Piece[];
}

export interface Diff {
  lines: DiffLine[];
  added: number;
  removed: number;
}

const HUNK = /^@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@+(.*)$/;
const HEADER = /^(---|\+\+\+|diff |index |new file|deleted file|old mode|new mode|rename |similarity )/;

export function parseDiff(text: string): Diff {
  const lines: DiffLine[] = [];
  let [old, now, inside] = [0, 0, false];
  for (const line of body(text)) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [old, now, inside] = [Number(hunk[1]), Number(hunk[2]), true];
      lines.push(made("hunk", null, null, line));
    } else if (!inside && HEADER.test(line)) continue;
    else if (line.startsWith("+")) lines.push(made("add", null, now++, line.slice(1)));
    else if (line.startsWith("-")) lines.push(made("remove", old++, null, line.slice(1)));
    else if (line.startsWith("\\")) lines.push(made("note", null, null, line.slice(1).trim()));
    else lines.push(made("context", old++, now++, line.slice(1)));
  }
  pairs(lines);
  return { lines, added: count(lines, "add"), removed: count(lines, "remove") };
}

function body(text: string): string[] {
  const lines = text.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines;
}

function made(kind: DiffLine["kind"], old: number | null, now: number | null, text: string): DiffLine {
  return { kind, old, new: now, pieces: [{ text, changed: false }] };
}

function count(lines: DiffLine[], kind: DiffLine["kind"]): number {
  return lines.reduce((sum, line) => sum + (line.kind === kind ? 1 : 0), 0);
}

/** A run of removals followed by as many additions: line by line, what differs between them. */
function pairs(lines: DiffLine[]): void {
  for (let at = 0; at < lines.length; ) {
    const removed = run(lines, at, "remove");
    const added = run(lines, at + removed, "add");
    if (removed && removed === added) for (let n = 0; n < removed; n++) mark(lines[at + n]!, lines[at + removed + n]!);
    at += Math.max(1, removed + added);
  }
}

function run(lines: DiffLine[], from: number, kind: DiffLine["kind"]): number {
  let at = from;
  while (lines[at]?.kind === kind) at++;
  return at - from;
}

function mark(before: DiffLine, after: DiffLine): void {
  const [one, two] = [before.pieces[0]!.text, after.pieces[0]!.text];
  const most = Math.min(one.length, two.length);
  let start = 0;
  while (start < most && one[start] === two[start]) start++;
  let end = 0;
  while (end < most - start && one[one.length - 1 - end] === two[two.length - 1 - end]) end++;
  // Lines with little in common are simply different lines: marking most of them says nothing.
  if (start + end < most * 0.3) return;
  before.pieces = cut(one, start, end);
  after.pieces = cut(two, start, end);
}

function cut(text: string, start: number, end: number): Piece[] {
  const pieces = [
    { text: text.slice(0, start), changed: false },
    { text: text.slice(start, text.length - end), changed: true },
    { text: text.slice(text.length - end), changed: false },
  ];
  return pieces.filter((piece) => piece.text);
}
