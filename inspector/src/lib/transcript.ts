/**
 * Events into the rows of a transcript: the page's only notion of what happened.
 *
 * A row is never changed, only replaced, so a list knows by identity what to draw again. An item is what its
 * `item.completed` says; deltas matter only while it is open. The events may begin anywhere (a window of a long
 * session): an item, a call or a parent that lies before the window is simply not there yet, and building the
 * transcript again from an earlier start puts everything in its place.
 */

import type {
  AgentUnparsed, Error as ErrorEvent, Event, Item, PermissionData, QuestionData, SessionEnded, SessionStarted, TurnEnded, TurnStarted,
} from "../schema";

interface Base {
  key: string;
  /** The sequences of its first and its last event. */
  at: number;
  last: number;
  time: string;
  /** The key of the call of the subagent that this belongs to. */
  under: string | null;
}

export interface ItemRow extends Base {
  kind: "item";
  item: Item;
  /** What was streamed while the item is open. */
  streamed: string;
  /** Its start lies before what is loaded: the streamed text lacks its beginning. */
  headless: boolean;
}

export interface ToolRow extends Base {
  kind: "tool";
  call: Item | null;
  result: Item | null;
  streamed: string;
  headless: boolean;
  ended: string | null;
}

export interface PermissionRow extends Base {
  kind: "permission";
  asked: PermissionData;
  resolved: PermissionData | null;
}

export interface QuestionRow extends Base {
  kind: "question";
  asked: QuestionData;
  resolved: QuestionData | null;
}

export interface EventRow extends Base {
  kind: "event";
  event: SessionStarted | SessionEnded | TurnStarted | ErrorEvent | AgentUnparsed;
}

export interface TurnRow extends Base {
  kind: "turn";
  event: TurnEnded;
  started: string | null;
}

export type Row = ItemRow | ToolRow | PermissionRow | QuestionRow | EventRow | TurnRow;

export class Transcript {
  rows: Row[] = [];
  last = 0;
  private places = new Map<string, number>();
  /** Which row shows an item, and which shows a call. */
  private rowOfItem = new Map<string, string>();
  private rowOfCall = new Map<string, string>();
  private items = new Map<string, { kind: Item["kind"]; parent: string | null }>();
  private turns = new Map<string, string>();

  /** Takes the next event; one that was taken before changes nothing. */
  apply(event: Event): void {
    if (event.sequence <= this.last) return;
    this.last = event.sequence;
    switch (event.type) {
      case "item.started":
      case "item.completed":
        return this.item(event.data.item, event, event.type === "item.started");
      case "item.delta":
        return this.delta(event.data.item_id, event.data.delta, event);
      case "turn.started":
        this.turns.set(event.data.turn_id, event.time);
        return this.add({ kind: "event", event, ...this.base(`turn ${event.data.turn_id}`, event) });
      case "turn.ended": {
        const started = this.turns.get(event.data.turn_id) ?? null;
        return this.add({ kind: "turn", event, started, ...this.base(`end ${event.data.turn_id}`, event) });
      }
      case "permission.requested":
      case "permission.resolved":
        return this.permission(event.data, event);
      case "question.requested":
      case "question.resolved":
        return this.question(event.data, event);
      default:
        return this.add({ kind: "event", event, ...this.base(event.event_id, event) });
    }
  }

  row(key: string): Row | undefined {
    const place = this.places.get(key);
    return place === undefined ? undefined : this.rows[place];
  }

  /** The row that shows an event, or the nearest one before it. */
  rowAt(sequence: number): Row | undefined {
    let best: Row | undefined;
    for (const row of this.rows) {
      if (row.last === sequence || row.at === sequence) return row;
      if (row.at <= sequence && (!best || row.at > best.at)) best = row;
    }
    return best;
  }

  /** An open item or result whose beginning is not loaded: what is shown of it would be half. */
  get headless(): boolean {
    return this.rows.some((row) => (row.kind === "item" || row.kind === "tool") && row.headless);
  }

  get pending(): (PermissionRow | QuestionRow)[] {
    return this.rows.filter((row): row is PermissionRow | QuestionRow => (row.kind === "permission" || row.kind === "question") && !row.resolved);
  }

  // --- items ----------------------------------------------------------------

  private item(item: Item, event: Event, open: boolean): void {
    this.items.set(item.item_id, { kind: item.kind, parent: item.parent_id });
    if (item.kind === "tool_call") return this.call(item, event);
    if (item.kind === "tool_result") return this.result(item, event, open);
    const row = this.row(item.item_id) as ItemRow | undefined;
    if (row) return this.replace({ ...row, item, streamed: open ? row.streamed : "", headless: false, last: event.sequence });
    this.rowOfItem.set(item.item_id, item.item_id);
    this.add({ kind: "item", item, streamed: "", headless: false, ...this.base(item.item_id, event, item.parent_id) });
  }

  private call(item: Item, event: Event): void {
    const row = this.row(item.item_id) as ToolRow | undefined;
    if (row) return this.replace({ ...row, call: item, last: event.sequence });
    this.rowOfItem.set(item.item_id, item.item_id);
    for (const part of item.content) if (part.type === "tool_call") this.rowOfCall.set(part.call_id, item.item_id);
    const base = this.base(item.item_id, event, item.parent_id);
    this.add({ kind: "tool", call: item, result: null, streamed: "", headless: false, ended: null, ...base });
  }

  private result(item: Item, event: Event, open: boolean): void {
    const part = item.content.find((part) => part.type === "tool_result");
    const key = this.rowOfItem.get(item.item_id) ?? (part && this.rowOfCall.get(part.call_id)) ?? item.item_id;
    this.rowOfItem.set(item.item_id, key);
    const ended = open ? null : event.time;
    const row = this.row(key);
    const told = { result: item, streamed: "", headless: false, ended };
    if (row?.kind === "tool") return this.replace({ ...row, ...told, streamed: open ? row.streamed : "", last: event.sequence });
    const made: ToolRow = { kind: "tool", call: null, ...told, ...this.base(key, event, item.parent_id) };
    // Until now only its output was known, and taken for text.
    if (row) return this.replace({ ...made, at: row.at, time: row.time });
    this.add(made);
  }

  private delta(id: string, words: string, event: Event): void {
    const row = this.row(this.rowOfItem.get(id) ?? id);
    if (row?.kind === "item" || row?.kind === "tool") return this.replace({ ...row, streamed: row.streamed + words, last: event.sequence });
    // What it belongs to began before the window. Its kind is unknown, text is the likeliest.
    const item: Item = { item_id: id, native_item_id: null, parent_id: null, kind: "message", role: "assistant", content: [], status: "in_progress" };
    this.rowOfItem.set(id, id);
    this.add({ kind: "item", item, streamed: words, headless: true, ...this.base(id, event) });
  }

  // --- asks -----------------------------------------------------------------

  private permission(data: PermissionData, event: Event): void {
    const key = `permission ${data.permission_id}`;
    const row = this.row(key) as PermissionRow | undefined;
    const resolved = event.type === "permission.resolved" ? data : null;
    if (row) return this.replace({ ...row, resolved, last: event.sequence });
    const call = typeof data.metadata.call_id === "string" ? this.rowOfCall.get(data.metadata.call_id) : undefined;
    const under = call ? (this.row(call)?.under ?? null) : null;
    this.add({ kind: "permission", asked: data, resolved, ...this.base(key, event), under });
  }

  private question(data: QuestionData, event: Event): void {
    const key = `question ${data.question_id}`;
    const row = this.row(key) as QuestionRow | undefined;
    const resolved = event.type === "question.resolved" ? data : null;
    if (row) return this.replace({ ...row, resolved, last: event.sequence });
    this.add({ kind: "question", asked: data, resolved, ...this.base(key, event) });
  }

  // --- rows -----------------------------------------------------------------

  private base(key: string, event: Event, parent: string | null = null): Base {
    return { key, at: event.sequence, last: event.sequence, time: event.time, under: this.caller(parent) };
  }

  /** The nearest call above: a call's parent may also be the message that it was made in. */
  private caller(parent: string | null): string | null {
    for (let id = parent; id !== null; ) {
      const item = this.items.get(id);
      if (!item) return null;
      if (item.kind === "tool_call") return id;
      id = item.parent;
    }
    return null;
  }

  private add(row: Row): void {
    this.places.set(row.key, this.rows.length);
    this.rows.push(row);
  }

  private replace(row: Row): void {
    this.rows[this.places.get(row.key)!] = row;
  }
}

export function build(events: Iterable<Event>): Transcript {
  const transcript = new Transcript();
  for (const event of events) transcript.apply(event);
  return transcript;
}

/** The same events without the words of items that are completed in them: all that building again needs. */
export function condensed(events: Event[]): Event[] {
  const done = new Set<string>();
  for (const event of events) if (event.type === "item.completed") done.add(event.data.item.item_id);
  return events.filter((event) => event.type !== "item.delta" || !done.has(event.data.item_id));
}
