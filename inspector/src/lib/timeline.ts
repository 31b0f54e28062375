/**
 * The whole session in short: one small record per event (no words), and from them the bars of a timeline.
 *
 * Made by reading every page once, so it is made only when somebody looks at it.
 */

import type { Event } from "../schema";

export interface Brief {
  sequence: number;
  time: number;
  type: Event["type"];
  label: string;
  id: string | null;
  /** The call of a call or a result. */
  call: string | null;
}

export function brief(event: Event): Brief {
  return { sequence: event.sequence, time: Date.parse(event.time), type: event.type, label: label(event), id: idOf(event), call: callOf(event) };
}

function callOf(event: Event): string | null {
  if (event.type !== "item.started" && event.type !== "item.completed") return null;
  const part = event.data.item.content[0];
  return part?.type === "tool_call" || part?.type === "tool_result" ? part.call_id : null;
}

function label(event: Event): string {
  switch (event.type) {
    case "item.started":
    case "item.completed": {
      const { kind, role, content, status } = event.data.item;
      const first = content[0];
      const name = first?.type === "tool_call" ? first.name : first?.type === "status" ? first.label : first?.type === "reasoning" ? "reasoning" : role ?? "";
      return `${kind} ${name}${status === "failed" ? " failed" : ""}`.trim();
    }
    case "item.delta":
      return event.data.delta.slice(0, 80);
    case "turn.ended":
      return event.data.metadata.status;
    case "error":
      return event.data.message.slice(0, 120);
    case "permission.requested":
    case "permission.resolved":
      return `${event.data.action} ${event.data.status}`;
    case "question.requested":
    case "question.resolved":
      return event.data.prompt.slice(0, 80);
    case "agent.unparsed":
      return event.data.error.slice(0, 120);
    case "session.ended":
      return event.data.reason;
    default:
      return "";
  }
}

function idOf(event: Event): string | null {
  switch (event.type) {
    case "item.started":
    case "item.completed":
      return event.data.item.item_id;
    case "item.delta":
      return event.data.item_id;
    case "turn.started":
    case "turn.ended":
      return event.data.turn_id;
    case "permission.requested":
    case "permission.resolved":
      return event.data.permission_id;
    case "question.requested":
    case "question.resolved":
      return event.data.question_id;
    default:
      return null;
  }
}

export interface Bar {
  lane: "turn" | "answer" | "tool" | "waiting" | "error";
  from: number;
  to: number;
  sequence: number;
  label: string;
}

export const LANES: readonly Bar["lane"][] = ["turn", "answer", "tool", "waiting", "error"];

/** What took how long: started and ended paired by id. What never ended lasts until the last event. */
export function bars(briefs: Brief[]): Bar[] {
  const open = new Map<string, Bar>();
  const names = new Map<string, string>();
  const found: Bar[] = [];
  const end = briefs[briefs.length - 1]?.time ?? 0;
  for (const event of briefs) {
    if (event.call && event.label.startsWith("tool_call ")) names.set(event.call, event.label.slice(10));
    const lane = laneOf(event);
    if (lane === null) continue;
    const label = (event.call && names.get(event.call)) || event.label;
    if (lane === "error") found.push({ lane, from: event.time, to: event.time, sequence: event.sequence, label });
    else if (/\.(started|requested)$/.test(event.type)) open.set(key(event), { lane, from: event.time, to: end, sequence: event.sequence, label });
    else close(open, found, event);
  }
  return [...found, ...open.values()].sort((one, other) => one.sequence - other.sequence);
}

function close(open: Map<string, Bar>, found: Bar[], event: Brief): void {
  const bar = open.get(key(event));
  if (!bar) return;
  open.delete(key(event));
  const failed = event.label.endsWith(" failed") && !bar.label.endsWith(" failed") ? " failed" : "";
  found.push({ ...bar, to: event.time, label: event.type === "turn.ended" ? event.label : bar.label + failed });
}

function key(event: Brief): string {
  return `${event.type.split(".")[0]} ${event.id}`;
}

function laneOf(event: Brief): Bar["lane"] | null {
  switch (event.type) {
    case "turn.started":
    case "turn.ended":
      return "turn";
    case "item.started":
    case "item.completed":
      return /^tool_result/.test(event.label) ? "tool" : /^message assistant|^message reasoning/.test(event.label) ? "answer" : null;
    case "permission.requested":
    case "permission.resolved":
    case "question.requested":
    case "question.resolved":
      return "waiting";
    case "error":
    case "agent.unparsed":
      return "error";
    default:
      return null;
  }
}
