/** How a session is, in the words of the list. */

import type { SessionInfo, SessionStatus } from "./api";

export const LOOKS: Record<SessionStatus, string> = { running: "running", waiting: "waiting for you", idle: "idle", ended: "ended", error: "error" };

/** The daemon knows four; a session that ended badly is a fifth to people. */
export function statusOf(session: SessionInfo): SessionStatus {
  return session.status === "ended" && session.error ? "error" : session.status;
}

export interface Filter {
  words: string;
  agent: string;
  status: string;
}

export function matches(session: SessionInfo, filter: Filter): boolean {
  if (filter.agent && session.agent !== filter.agent) return false;
  if (filter.status && statusOf(session) !== filter.status) return false;
  const text = [session.title, session.directory, session.model, session.agent, session.sessionId].join(" ").toLowerCase();
  return filter.words.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}

export function titleOf(session: SessionInfo): string {
  return session.title?.trim() || "Untitled";
}

/** Everything that was read or written. */
export function totalTokens(session: SessionInfo): number | null {
  const usage = session.usage;
  if (!usage) return null;
  const counts = [usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens];
  return counts.some((count) => typeof count === "number") ? counts.reduce<number>((sum, count) => sum + (count ?? 0), 0) : null;
}
