import { expect, test, beforeEach } from "vitest";
import type { Event } from "../src/schema";
import { build, type ItemRow } from "../src/lib/transcript";
import { Window, WIDE, WINDOW, SCREEN, type Source } from "../src/lib/window";
import { delta, restart, said, started, turn, completed, event } from "./events";

beforeEach(() => restart());

class Log implements Source {
  asked: [number, number][] = [];
  constructor(public all: Event[]) {}
  count = async () => this.all.length;
  events = async (offset: number, limit: number) => {
    this.asked.push([offset, limit]);
    const events = this.all.slice(offset, offset + limit);
    return { events, hasMore: offset + limit < this.all.length };
  };
}

function long(turns: number): Event[] {
  return Array.from({ length: turns }, (_, at) => turn(`t${at}`, () => said(`a${at}`, `Answer ${at}`))).flat();
}

test("a long session opens with its last window and one request for it", async () => {
  const log = new Log(long(20_000));
  const window = new Window(log);
  await window.open();
  expect(log.asked).toEqual([[log.all.length - WINDOW, WINDOW]]);
  expect(window.last).toBe(100_000);
  expect(window.complete).toBe(true);
  expect(window.hasEarlier).toBe(true);
});

test("where the last window shows next to nothing, one wider step is taken at once", async () => {
  const words = Array.from({ length: 5_000 }, () => "word ");
  const log = new Log([...long(100), started("b"), ...words.map((word) => delta("b", word))]);
  const window = new Window(log);
  await window.open();
  expect(log.asked).toHaveLength(2);
  expect(window.before).toBe(Math.max(0, log.all.length - WINDOW - WIDE));
  expect(window.transcript.rows.length).toBeGreaterThan(SCREEN);
  const last = window.transcript.rows[window.transcript.rows.length - 1] as ItemRow;
  expect(last.headless).toBe(false);
  expect(last.streamed).toBe(words.join(""));
});

test("window by window it becomes the whole, equal to the whole", async () => {
  const log = new Log(long(1_500));
  const window = new Window(log);
  await window.open();
  while (window.hasEarlier) await window.earlier();
  const strip = (rows: { last: number }[]) => rows.map((row) => ({ ...row, last: 0 }));
  expect(strip(window.transcript.rows)).toEqual(strip(build(log.all).rows));
});

test("opened in the middle it is not complete, and grows at both ends", async () => {
  const log = new Log(long(2_000));
  const window = new Window(log);
  await window.open(5_000);
  expect(window.complete).toBe(false);
  expect(window.before).toBeLessThan(5_000);
  expect(window.last).toBeGreaterThan(5_000);
  while (!window.complete) await window.later();
  expect(window.last).toBe(10_000);
});

test("the stream's events are taken once each, and a gap is told", async () => {
  const log = new Log(long(2));
  const window = new Window(log);
  await window.open();
  const next = turn("t9", () => said("z", "More"));
  expect(window.receive(next.slice(0, 2))).toBe(true);
  expect(window.receive(next.slice(1, 3))).toBe(true);
  expect(window.receive(next.slice(4))).toBe(false);
  expect(window.last).toBe(next[2]!.sequence);
  expect(window.receive(next.slice(2))).toBe(true);
  expect(window.transcript.rows.filter((row) => row.key === "z")).toHaveLength(1);
});

test("what the stream tells while an earlier window is fetched is not lost", async () => {
  const log = new Log(long(1_000));
  const window = new Window(log);
  await window.open();
  const more = said("late", "While you waited");
  const slow = window.earlier();
  window.receive(more);
  await slow;
  expect(window.last).toBe(more[2]!.sequence);
  expect(window.transcript.row("late")).toBeDefined();
});

test("two wishes for an earlier window are one", async () => {
  const log = new Log(long(2_000));
  const window = new Window(log);
  await window.open();
  await Promise.all([window.earlier(), window.earlier()]);
  expect(log.asked).toHaveLength(2);
  expect(new Set(window.transcript.rows.map((row) => row.key)).size).toBe(window.transcript.rows.length);
});

test("opening elsewhere waits for what is being fetched, and is done", async () => {
  const log = new Log(long(2_000));
  const window = new Window(log);
  await window.open();
  await Promise.all([window.earlier(), window.open(1)]);
  expect(window.before).toBe(0);
  expect(window.transcript.rows[0]!.at).toBe(1);
});

test("a session without events opens too", async () => {
  const window = new Window(new Log([]));
  await window.open();
  expect(window.transcript.rows).toEqual([]);
  expect(window.receive([event("session.started", { metadata: {} }), completed("a")])).toBe(true);
});
