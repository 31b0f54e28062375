/**
 * What the page shows for everything a transcript may hold: one table per list of the schema.
 *
 * The types make each table complete against schema.ts, and tests/inspector/test_page_coverage.py makes both complete
 * against `onetape schema`. A new event, kind, part or label therefore cannot be forgotten.
 */

import type { Event, Item, Status } from "./schema";

/** Where an event is seen. */
export type Place = "session" | "turn" | "item" | "error" | "permission" | "question" | "unparsed";

export const EVENTS: Record<Event["type"], Place> = {
  "session.started": "session",
  "session.ended": "session",
  "turn.started": "turn",
  "turn.ended": "turn",
  "item.started": "item",
  "item.delta": "item",
  "item.completed": "item",
  "error": "error",
  "permission.requested": "permission",
  "permission.resolved": "permission",
  "question.requested": "question",
  "question.resolved": "question",
  "agent.unparsed": "unparsed",
};

/** Which row shows an item. */
export type Kind = "message" | "tool" | "system" | "status" | "unknown";

export const ITEMS: Record<Item["kind"], Kind> = {
  "message": "message",
  "tool_call": "tool",
  "tool_result": "tool",
  "system": "system",
  "status": "status",
  "unknown": "unknown",
};

/** How a part is shown. */
export type PartLook = "markdown" | "json" | "call" | "output" | "file" | "reasoning" | "picture" | "status";

export const PARTS: Record<Item["content"][number]["type"], PartLook> = {
  "text": "markdown",
  "json": "json",
  "tool_call": "call",
  "tool_result": "output",
  "file_ref": "file",
  "reasoning": "reasoning",
  "image": "picture",
  "status": "status",
};

/** The words and the weight of a status: `loud` ones are worth a second look. */
export interface Label {
  word: string;
  icon: string;
  tone: "quiet" | "plain" | "loud";
}

export const LABELS: Record<Status["label"], Label> = {
  "agent.ready": { word: "Agent ready", icon: "plug", tone: "quiet" },
  "retry": { word: "Retry", icon: "retry", tone: "loud" },
  "rate_limit": { word: "Rate limit", icon: "gauge", tone: "loud" },
  "compaction": { word: "Compaction", icon: "fold", tone: "plain" },
  "plan": { word: "Plan", icon: "list", tone: "plain" },
  "mode": { word: "Mode", icon: "switch", tone: "quiet" },
  "model": { word: "Model", icon: "switch", tone: "quiet" },
  "mcp": { word: "MCP", icon: "plug", tone: "quiet" },
  "subagent": { word: "Subagent", icon: "branch", tone: "plain" },
  "hook": { word: "Hook", icon: "hook", tone: "quiet" },
  "progress": { word: "Progress", icon: "gauge", tone: "quiet" },
  "notice": { word: "Notice", icon: "info", tone: "quiet" },
};

/** What the agent said that nobody understands yet: shown, and counted in the drift banner. */
export const DRIFT = { kinds: ["unknown"] as const, events: ["agent.unparsed"] as const };
