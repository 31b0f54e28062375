/** Events for the tests, as short as they can be said. */

import type { Event, Item } from "../src/schema";

let number = 0;

export function restart(at = 0): void {
  number = at;
}

export function event(type: string, data: unknown): Event {
  number += 1;
  const time = new Date(1_700_000_000_000 + number * 1000).toISOString();
  return { event_id: `evt_${number}`, sequence: number, time, session_id: "s", native_session_id: null, synthetic: false, source: "agent", type, data, raw: null } as unknown as Event;
}

export function item(id: string, fields: Partial<Item> = {}): Item {
  return { item_id: id, native_item_id: null, parent_id: null, kind: "message", role: "assistant", content: [], status: "completed", ...fields };
}

export const started = (id: string, fields: Partial<Item> = {}) => event("item.started", { item: item(id, { status: "in_progress", ...fields }) });
export const delta = (id: string, words: string) => event("item.delta", { item_id: id, native_item_id: null, delta: words });
export const completed = (id: string, fields: Partial<Item> = {}) => event("item.completed", { item: item(id, fields) });

export function said(id: string, text: string, fields: Partial<Item> = {}): Event[] {
  const content = [{ type: "text" as const, text }];
  return [started(id, { ...fields, content: [{ type: "text", text: "" }] }), delta(id, text), completed(id, { ...fields, content })];
}

export function called(id: string, call: string, fields: Partial<Item> = {}): Event[] {
  const content = [{ type: "tool_call" as const, name: "bash", arguments: '{"command":"ls"}', call_id: call }];
  return [started(id, { kind: "tool_call", content, ...fields }), completed(id, { kind: "tool_call", content, ...fields })];
}

export function resulted(id: string, call: string, output: string, fields: Partial<Item> = {}): Event[] {
  const content = [{ type: "tool_result" as const, call_id: call, output }];
  return [started(id, { kind: "tool_result", role: "tool", content: [{ ...content[0]!, output: "" }], ...fields }), delta(id, output), completed(id, { kind: "tool_result", role: "tool", content, ...fields })];
}

export function turn(id: string, ...inside: (() => Event[])[]): Event[] {
  const begin = event("turn.started", { phase: "started", turn_id: id });
  const middle = inside.flatMap((make) => make());
  return [begin, ...middle, event("turn.ended", { phase: "ended", turn_id: id, metadata: { status: "completed" } })];
}
