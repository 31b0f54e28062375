/**
 * The part of a session that is loaded: one unbroken range of sequences, growing at either end.
 *
 * A session of any length opens with its last window; earlier ones are fetched when they are scrolled to.
 * The newest events come from a stream once the range reaches the end. Everything is counted in sequences,
 * so an event that comes twice is dropped and one that is missing is fetched: no loss, no double.
 */

import type { Event } from "../schema";
import { Transcript, build, condensed } from "./transcript";

export interface Source {
  count: () => Promise<number>;
  events: (offset: number, limit: number) => Promise<{ events: Event[]; hasMore: boolean }>;
}

/** Most events are words of an answer: so many of them usually fill some screens. */
export const WINDOW = 1_500;
/** A wider step where a window held next to nothing to see. */
export const WIDE = 12_000;
/** Enough rows for the first screen. */
export const SCREEN = 12;

export class Window {
  transcript = new Transcript();
  /** The sequence before the first loaded event. */
  before = 0;
  /** Whether the end of the session is loaded. */
  complete = false;
  private events: Event[] = [];
  private busy: Promise<void> | null = null;

  constructor(private readonly source: Source) {}

  get last(): number {
    return this.transcript.last;
  }

  get hasEarlier(): boolean {
    return this.before > 0;
  }

  /** Loads the end, or the surroundings of a sequence. */
  async open(at: number | null = null): Promise<void> {
    while (this.busy) await this.busy.catch(() => undefined);
    await this.alone(async () => {
      const count = await this.source.count();
      if (at === null || at > count - WINDOW / 2) await this.openEnd(count);
      else await this.openAround(Math.max(0, at - 1 - WINDOW / 2));
    });
  }

  private async openEnd(count: number): Promise<void> {
    this.start(Math.max(0, count - WINDOW), await this.source.events(Math.max(0, count - WINDOW), WINDOW), true);
    if (this.hasEarlier && (this.transcript.rows.length < SCREEN || this.transcript.headless)) await this.prepend(WIDE);
  }

  private async openAround(before: number): Promise<void> {
    const page = await this.source.events(before, WINDOW);
    this.start(before, page, !page.hasMore);
  }

  private start(before: number, page: { events: Event[] }, complete: boolean): void {
    this.before = before;
    this.complete = complete;
    this.events = page.events;
    this.transcript = build(page.events);
    if (!page.events.length) this.transcript.last = before;
  }

  /** One window more at the beginning. */
  async earlier(): Promise<void> {
    await this.alone(() => this.prepend(this.transcript.rows.length < SCREEN || this.transcript.headless ? WIDE : WINDOW));
  }

  private async prepend(limit: number): Promise<void> {
    if (!this.hasEarlier) return;
    const before = Math.max(0, this.before - limit);
    const page = await this.source.events(before, this.before - before);
    // What the stream told while we waited is in `events` by now: nothing is lost by building again.
    this.events = condensed([...page.events, ...this.events]);
    this.before = before;
    const last = this.last;
    this.transcript = build(this.events);
    this.transcript.last = Math.max(last, this.transcript.last);
  }

  /** One window more at the end, where the session was opened somewhere in its middle. */
  async later(): Promise<void> {
    await this.alone(async () => {
      if (this.complete) return;
      const page = await this.source.events(this.last, WINDOW);
      page.events.forEach((event) => this.take(event));
      this.complete = !page.hasMore;
    });
  }

  /** Takes what a stream told. False: something between is missing, and the stream must begin again after `last`. */
  receive(events: Event[]): boolean {
    for (const event of events) {
      if (event.sequence > this.last + 1) return false;
      this.take(event);
    }
    return true;
  }

  private take(event: Event): void {
    if (event.sequence <= this.last) return;
    this.events.push(event);
    this.transcript.apply(event);
    // The words of a finished item are in the item: without this a long watch would keep every one of them.
    if (event.type === "turn.ended" && this.events.length > 4 * WINDOW) this.events = condensed(this.events);
  }

  /** One fetch at a time: two that overlap would put the same window in twice. */
  private async alone(work: () => Promise<void>): Promise<void> {
    if (this.busy) return this.busy;
    this.busy = work().finally(() => (this.busy = null));
    return this.busy;
  }
}
