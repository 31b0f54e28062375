/** Which rows are shown, in which order and how deep: a subagent's rows stand under its call, and fold with it. */

import type { Row } from "./transcript";

export interface Line {
  key: string;
  row: Row;
  depth: number;
  /** How many rows stand under it, at any depth. */
  inside: number;
  open: boolean;
}

export function outline(rows: Row[], folded: (row: Row, inside: Row[]) => boolean): Line[] {
  const children = new Map<string, Row[]>();
  const keys = new Set(rows.map((row) => row.key));
  const roots: Row[] = [];
  for (const row of rows) {
    if (row.under === null || !keys.has(row.under)) roots.push(row);
    else children.get(row.under)?.push(row) ?? children.set(row.under, [row]);
  }
  const lines: Line[] = [];
  for (const row of roots) place(row, 0, children, folded, lines);
  return lines;
}

function place(row: Row, depth: number, children: Map<string, Row[]>, folded: (row: Row, inside: Row[]) => boolean, lines: Line[]): void {
  const below = children.get(row.key) ?? [];
  const open = below.length > 0 && !folded(row, below);
  lines.push({ key: row.key, row, depth, inside: below.length, open });
  if (open) for (const child of below) place(child, depth + 1, children, folded, lines);
}

/** The keys of the calls that must be open for a row to be seen. */
export function above(row: Row, find: (key: string) => Row | undefined): string[] {
  const keys: string[] = [];
  for (let key = row.under; key !== null; key = find(key)?.under ?? null) keys.push(key);
  return keys;
}
