/** Sums and days of usage rows. */

import type { UsageRow } from "./api";

/** The kinds of tokens that add up to everything; reasoning is part of the output. */
export const KINDS = [
  { key: "outputTokens", name: "Output", className: "s1" },
  { key: "inputTokens", name: "Input", className: "s2" },
  { key: "cacheWriteTokens", name: "To cache", className: "s3" },
  { key: "cacheReadTokens", name: "From cache", className: "s4" },
] as const;

export function total(row: UsageRow): number {
  return KINDS.reduce((sum, kind) => sum + (row[kind.key] ?? 0), 0);
}

export function empty(key: string): UsageRow {
  return { key, turns: 0, inputTokens: 0, outputTokens: 0, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, costUsd: null, unpricedTokens: 0 };
}

export function sum(rows: UsageRow[]): UsageRow {
  return rows.reduce(
    (all, row) => ({
      key: all.key,
      turns: all.turns + row.turns,
      inputTokens: all.inputTokens + (row.inputTokens ?? 0),
      outputTokens: all.outputTokens + (row.outputTokens ?? 0),
      reasoningTokens: all.reasoningTokens + (row.reasoningTokens ?? 0),
      cacheReadTokens: all.cacheReadTokens + (row.cacheReadTokens ?? 0),
      cacheWriteTokens: all.cacheWriteTokens + (row.cacheWriteTokens ?? 0),
      costUsd: row.costUsd === null ? all.costUsd : (all.costUsd ?? 0) + row.costUsd,
      unpricedTokens: all.unpricedTokens + (row.unpricedTokens ?? 0),
    }),
    empty("all"),
  );
}

const DAY = 86_400_000;
/** Where "all" would be years of single days, the newest are shown. */
const MOST = 120;

/** One row per day without gaps, up to today. */
export function days(rows: UsageRow[], range: number, today: Date): UsageRow[] {
  const known = new Map(rows.map((row) => [row.key, row]));
  const first = rows.flatMap((row) => row.key ?? []).sort()[0];
  const end = Date.parse(today.toISOString().slice(0, 10));
  const count = range || Math.max(7, first ? Math.round((end - Date.parse(first)) / DAY) + 1 : 7);
  return Array.from({ length: Math.min(MOST, count) }, (_, back) => new Date(end - back * DAY).toISOString().slice(0, 10))
    .reverse()
    .map((key) => known.get(key) ?? empty(key));
}
