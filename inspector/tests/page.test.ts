/** Addresses, streams, the timeline and the list: what holds the page together. */

import { beforeEach, expect, test, vi } from "vitest";
import { curl, search } from "../src/lib/api";
import { address, parseRoute, tokenOf, type Route } from "../src/lib/route";
import { matches, statusOf } from "../src/lib/status";
import { FrameReader, Stream } from "../src/lib/stream";
import { bars, brief } from "../src/lib/timeline";
import { called, event, restart, resulted, said, turn } from "./events";

beforeEach(() => restart());

test.each<Route>([
  { view: "sessions" },
  { view: "session", id: "sess_1/ä", at: null },
  { view: "session", id: "s", at: 42 },
  { view: "search", q: "two words & more" },
  { view: "usage" },
  { view: "start" },
])("an address leads back to its view: %j", (route) => {
  expect(parseRoute(new URL(address(route), "http://x"))).toEqual(route);
});

test("the token is read from the fragment", () => {
  expect(tokenOf("#token=a%2Bb")).toBe("a+b");
  expect(tokenOf("")).toBeNull();
});

test("what is untold is not asked for", () => {
  expect(search({ q: "a b", agent: "", limit: 5, after: undefined })).toBe("?q=a+b&limit=5");
});

test("a command to copy holds no token and survives quotes", () => {
  const text = curl("http://x", "/v1/a'b", { message: "it's" });
  expect(text).toContain("$ONETAPE_TOKEN");
  expect(text).toContain("'http://x/v1/a'\\''b'");
  expect(text).toContain("it'\\''s");
});

test("frames cut anywhere come out whole", () => {
  const text = ': hello\n\nid: 1\ndata: {"a":1}\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\n';
  for (let cut = 0; cut <= text.length; cut++) {
    const reader = new FrameReader();
    const frames = [...reader.push(text.slice(0, cut)), ...reader.push(text.slice(cut))];
    expect(frames).toEqual([{ id: "1", data: '{"a":1}' }, { id: "2", data: "x\ny" }]);
  }
});

function answer(text: string): Response {
  return new Response(text);
}

test("a stream that ends is opened again, and one that is refused for good is not", async () => {
  vi.useFakeTimers();
  const heard: string[] = [];
  const up: boolean[] = [];
  let connections = 0;
  const stream = new Stream({
    connect: async () => {
      connections++;
      if (connections === 1) return answer("id: 1\ndata: one\n\n");
      if (connections === 2) throw new Error("away");
      if (connections === 3) return answer("id: 2\ndata: two\n\n");
      throw new Error("gone");
    },
    frames: (frames) => heard.push(...frames.map((frame) => frame.data)),
    online: (now) => up.push(now),
    final: (reason) => (reason as Error).message === "gone",
  });
  await vi.advanceTimersByTimeAsync(60_000);
  expect(heard).toEqual(["one", "two"]);
  expect(connections).toBe(4);
  expect(up).toEqual([true, false, false, true, false, false]);
  stream.stop();
  vi.useRealTimers();
});

test("a stream that sleeps opens no connection until it is looked at again", async () => {
  vi.useFakeTimers();
  let connections = 0;
  const stream = new Stream({
    connect: async (signal) => {
      connections++;
      return new Response(new ReadableStream({ start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)) }));
    },
    frames: () => undefined,
    online: () => undefined,
  });
  await vi.advanceTimersByTimeAsync(1_000);
  stream.sleep();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(connections).toBe(1);
  stream.hurry();
  await vi.advanceTimersByTimeAsync(10);
  expect(connections).toBe(2);
  stream.stop();
  vi.useRealTimers();
});

test("a timeline pairs what began with what ended", () => {
  const events = [
    ...turn("t", () => said("a", "Hello"), () => called("c", "x"), () => resulted("r", "x", "out")),
    event("permission.requested", { permission_id: "p", action: "bash", status: "requested", metadata: {} }),
    event("error", { message: "broken", code: null, details: null }),
  ];
  const found = bars(events.map(brief));
  expect(found.map((bar) => bar.lane).sort()).toEqual(["answer", "error", "tool", "turn", "waiting"]);
  const whole = found.find((bar) => bar.lane === "turn")!;
  expect(whole.to).toBeGreaterThan(whole.from);
});

test("the list is filtered by every word, agent and status", () => {
  const session = { sessionId: "s", agent: "mock", title: "Fix the tests", directory: "/home/x", status: "ended", model: null, error: "boom" };
  const is = (filter: object) => matches(session as never, { words: "", agent: "", status: "", ...filter });
  expect(is({ words: "tests fix" })).toBe(true);
  expect(is({ words: "tests nothing" })).toBe(false);
  expect(is({ agent: "mock", status: "error" })).toBe(true);
  expect(is({ agent: "other" })).toBe(false);
  expect(statusOf({ ...session, error: null } as never)).toBe("ended");
});
