/** One session as it is looked at: its window, its stream, what is unfolded, selected and followed. */

import { Problem, sessionPath, type SessionInfo } from "../lib/api";
import { above, outline, type Line } from "../lib/outline";
import { Stream, type Frame } from "../lib/stream";
import type { Row } from "../lib/transcript";
import { Window } from "../lib/window";
import type { Event } from "../schema";
import { app } from "./app.svelte";
import { whileLookedAt } from "./looked";

export class OpenSession {
  info = $state.raw<SessionInfo | null>(null);
  problem = $state<string | null>(null);
  ready = $state(false);
  online = $state(true);
  loading = $state<"none" | "earlier" | "later">("none");
  hasEarlier = $state(false);
  complete = $state(true);
  /** Rises with every change of the rows. */
  version = $state(0);
  cursor = $state<string | null>(null);
  /** Where to scroll to; the number makes the same place twice two wishes. */
  target = $state.raw<{ key: string; wish: number } | null>(null);
  hood = $state.raw<{ sequence: number } | null>(null);
  hoodOpen = $state(false);
  private folds = $state.raw(new Map<string, boolean>());
  private window: Window;
  private stream: Stream | null = null;
  private unwatch: () => void = () => undefined;
  private arrived: Event[] = [];
  private frame = 0;
  private wish = 0;
  private gone = false;

  readonly lines: Line[] = $derived.by(() => {
    void this.version;
    return outline(this.window.transcript.rows, (row, inside) => !this.unfolded(row.key, running(row, inside)));
  });

  constructor(readonly id: string) {
    this.window = new Window({
      count: async () => (await this.load()).eventCount,
      events: (offset, limit) => app.api.events(id, offset, limit),
    });
  }

  async open(at: number | null): Promise<void> {
    try {
      await this.window.open(at);
    } catch (reason) {
      if (!(reason instanceof Problem) || !reason.unreachable) return this.fail(reason);
      // The daemon is away: try again until it is back.
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      return this.gone ? undefined : this.open(at);
    }
    this.ready = true;
    this.changed();
    if (at !== null) this.show(at);
    this.follow();
  }

  close(): void {
    this.gone = true;
    this.unfollow();
    cancelAnimationFrame(this.frame);
  }

  private fail(reason: unknown): void {
    this.problem = reason instanceof Error ? reason.message : String(reason);
  }

  private async load(): Promise<SessionInfo> {
    this.info = await app.api.get<SessionInfo>(sessionPath(this.id));
    return this.info;
  }

  async reload(): Promise<void> {
    await this.load().catch(() => undefined);
  }

  // --- live -----------------------------------------------------------------

  private follow(): void {
    if (this.gone || this.stream || !this.window.complete || this.over) return;
    this.stream = new Stream({
      connect: (signal) => app.api.fetch("GET", `${sessionPath(this.id)}/events/sse?offset=${this.window.last + this.waiting}`, { signal }),
      frames: (frames) => this.hear(frames),
      online: (up) => (this.online = up || this.over),
      final: (reason) => this.over || (reason instanceof Problem && [401, 404].includes(reason.status)),
    });
    this.unwatch = whileLookedAt(this.stream);
  }

  private unfollow(): void {
    this.unwatch();
    this.stream?.stop();
    this.stream = null;
  }

  /** How many events arrived that are not in the rows yet. */
  private get waiting(): number {
    return this.arrived.length;
  }

  private get over(): boolean {
    const rows = this.window.transcript.rows;
    const last = rows[rows.length - 1];
    return last?.kind === "event" && last.event.type === "session.ended";
  }

  private hear(frames: Frame[]): void {
    const next = this.window.last + this.waiting + 1;
    const events = frames.map((frame) => JSON.parse(frame.data) as Event).filter((event) => event.sequence >= next);
    this.arrived.push(...events);
    // A hidden tab draws no frames, and must not pile events up either.
    if (document.hidden) this.flush();
    else this.frame ||= requestAnimationFrame(() => this.flush());
  }

  private flush(): void {
    this.frame = 0;
    const events = this.arrived;
    this.arrived = [];
    if (!this.window.receive(events)) this.again();
    this.changed();
    if (events.some((event) => /^(session|turn|permission|question)\./.test(event.type))) void this.reload();
    if (this.over) this.close();
  }

  private again(): void {
    this.unfollow();
    this.follow();
  }

  // --- windows --------------------------------------------------------------

  async earlier(): Promise<void> {
    await this.fetch("earlier", () => this.window.earlier());
  }

  async later(): Promise<void> {
    await this.fetch("later", () => this.window.later());
    this.follow();
  }

  private async fetch(which: "earlier" | "later", work: () => Promise<void>): Promise<void> {
    if (this.loading !== "none" || (which === "earlier" ? !this.hasEarlier : this.complete)) return;
    this.loading = which;
    await app.attempt(work);
    this.loading = "none";
    this.changed();
  }

  private changed(): void {
    this.hasEarlier = this.window.hasEarlier;
    this.complete = this.window.complete;
    this.version++;
  }

  /** Goes to an event, wherever it is. */
  async visit(sequence: number): Promise<void> {
    if (sequence <= this.window.before || sequence > this.window.last) await this.reopen(sequence);
    this.show(sequence);
  }

  async toEnd(): Promise<void> {
    if (!this.window.complete) await this.reopen(null);
    const last = this.lines[this.lines.length - 1];
    if (last) this.target = { key: last.key, wish: ++this.wish };
  }

  async toStart(): Promise<void> {
    await this.visit(1);
  }

  private async reopen(at: number | null): Promise<void> {
    this.unfollow();
    this.arrived = [];
    await app.attempt(() => this.window.open(at));
    this.changed();
    this.follow();
  }

  private show(sequence: number): void {
    const row = this.window.transcript.rowAt(sequence);
    if (!row) return;
    for (const key of above(row, (key) => this.window.transcript.row(key))) this.fold(key, true);
    this.cursor = row.key;
    this.target = { key: row.key, wish: ++this.wish };
  }

  scrollTo(key: string): void {
    this.cursor = key;
    this.target = { key, wish: ++this.wish };
  }

  // --- what is unfolded -----------------------------------------------------

  unfolded(key: string, otherwise: boolean): boolean {
    return this.folds.get(key) ?? otherwise;
  }

  fold(key: string, open: boolean): void {
    this.folds = new Map(this.folds).set(key, open);
  }

  foldAll(open: boolean): void {
    const keys = this.rows.filter((row) => row.kind === "tool" || row.kind === "item").map((row) => row.key);
    this.folds = new Map(keys.flatMap((key) => [[key, open], [`${key} body`, open]] as [string, boolean][]));
  }

  // --- looking things up ----------------------------------------------------

  get rows(): Row[] {
    void this.version;
    return this.window.transcript.rows;
  }

  get pending(): Row[] {
    void this.version;
    return this.window.transcript.pending;
  }

  get range(): [number, number] {
    void this.version;
    return [this.window.before + 1, this.window.last];
  }

  /** The plan as it stands; earlier ones are history. */
  readonly plan: string | null = $derived.by(() => {
    void this.version;
    const rows = this.window.transcript.rows;
    for (let at = rows.length - 1; at >= 0; at--) {
      const row = rows[at]!;
      if (row.kind === "item" && row.item.content.some((part) => part.type === "status" && part.label === "plan")) return row.key;
    }
    return null;
  });

  inspect(sequence: number): void {
    this.hood = { sequence };
    this.hoodOpen = true;
  }
}

/** A subagent at work, or one that waits for an answer, is open by itself. */
function running(row: Row, inside: Row[]): boolean {
  const asks = inside.some((child) => (child.kind === "permission" || child.kind === "question") && !child.resolved);
  return asks || (row.kind === "tool" && (row.result === null || row.result.status === "in_progress"));
}
