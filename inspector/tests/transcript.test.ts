import { beforeEach, expect, test } from "vitest";
import { above, outline } from "../src/lib/outline";
import { build, condensed, Transcript, type ItemRow, type ToolRow } from "../src/lib/transcript";
import { commandOf, toolOutput, toolState, toolTitle } from "../src/lib/tools";
import { called, completed, delta, event, restart, resulted, said, started, turn } from "./events";

beforeEach(() => restart());

test("an item streams and is then what its completion says", () => {
  const transcript = new Transcript();
  transcript.apply(started("a", { content: [{ type: "text", text: "" }] }));
  transcript.apply(delta("a", "Hel"));
  transcript.apply(delta("a", "lo"));
  const open = transcript.rows[0] as ItemRow;
  expect(open.streamed).toBe("Hello");
  transcript.apply(completed("a", { content: [{ type: "text", text: "Hello!" }] }));
  const done = transcript.rows[0] as ItemRow;
  expect(done).not.toBe(open);
  expect(done.streamed).toBe("");
  expect(done.item.content).toEqual([{ type: "text", text: "Hello!" }]);
  expect([done.at, done.last]).toEqual([1, 4]);
});

test("an event that comes twice changes nothing", () => {
  const events = said("a", "Hello");
  const transcript = build([...events, ...events]);
  expect(transcript.rows).toHaveLength(1);
  expect((transcript.rows[0] as ItemRow).item.content).toEqual([{ type: "text", text: "Hello" }]);
});

test("call and result are one row, found by the call's id", () => {
  const transcript = build([...called("c1", "x"), ...called("c2", "y"), ...resulted("r2", "y", "second"), ...resulted("r1", "x", "first", { status: "failed" })]);
  expect(transcript.rows.map((row) => [row.key, toolOutput(row as ToolRow), toolState(row as ToolRow)])).toEqual([
    ["c1", "first", "failed"],
    ["c2", "second", "done"],
  ]);
  expect(toolTitle(transcript.rows[0] as ToolRow)).toBe("ls");
});

test("a result shows what was streamed while it runs, and its command when it is over", () => {
  const transcript = build([...called("c", "x"), started("r", { kind: "tool_result", role: "tool", content: [{ type: "tool_result", call_id: "x", output: "" }] }), delta("r", "one\n")]);
  expect(toolState(transcript.rows[0] as ToolRow)).toBe("running");
  expect(toolOutput(transcript.rows[0] as ToolRow)).toBe("one\n");
  const run = { command: "ls -l", cwd: "/", exit_code: 2, stdout: "", stderr: "", duration_ms: 5 };
  transcript.apply(completed("r", { kind: "tool_result", role: "tool", content: [{ type: "tool_result", call_id: "x", output: "one\n" }, { type: "json", json: run }] }));
  expect(commandOf(transcript.rows[0] as ToolRow)).toEqual(run);
  expect(toolTitle(transcript.rows[0] as ToolRow)).toBe("ls -l");
});

test("what began before the window is headless until it is complete, whatever it turns out to be", () => {
  const transcript = build([delta("r", "the end of some output")]);
  expect(transcript.headless).toBe(true);
  transcript.apply(completed("r", { kind: "tool_result", role: "tool", content: [{ type: "tool_result", call_id: "x", output: "all of it" }] }));
  expect(transcript.headless).toBe(false);
  expect(transcript.rows).toHaveLength(1);
  expect(toolOutput(transcript.rows[0] as ToolRow)).toBe("all of it");
});

test("asks are pending until they are resolved", () => {
  const data = { permission_id: "p", action: "bash", status: "requested", metadata: {} };
  const transcript = build([event("permission.requested", data)]);
  expect(transcript.pending).toHaveLength(1);
  transcript.apply(event("permission.resolved", { ...data, status: "accept" }));
  expect(transcript.pending).toHaveLength(0);
  expect(transcript.rows).toHaveLength(1);
  const question = { question_id: "q", prompt: "Which?", options: ["a"], status: "requested", response: null };
  transcript.apply(event("question.requested", question));
  expect(transcript.pending).toHaveLength(1);
  transcript.apply(event("question.resolved", { ...question, status: "rejected" }));
  expect(transcript.pending).toHaveLength(0);
});

test("a subagent's rows stand under its call, however they hang on it, and fold with it", () => {
  const inner = said("m", "I count.", { parent_id: "task" });
  const events = [...said("talk", "I hand it over."), ...called("task", "t", { parent_id: "talk" }), ...inner, ...called("wc", "w", { parent_id: "m" }), ...resulted("r", "w", "5", { parent_id: "m" }), ...said("end", "Five.")];
  restart();
  const transcript = build([...said("talk", "I hand it over."), ...called("task", "t", { parent_id: "talk" }), ...said("m", "I count.", { parent_id: "task" }), ...called("wc", "w", { parent_id: "m" }), ...resulted("r", "w", "5", { parent_id: "m" }), ...said("end", "Five.")]);
  expect(events).toHaveLength(transcript.last);
  const open = outline(transcript.rows, () => false);
  expect(open.map((line) => [line.key, line.depth])).toEqual([["talk", 0], ["task", 0], ["m", 1], ["wc", 1], ["end", 0]]);
  expect(open[1]!.inside).toBe(2);
  const folded = outline(transcript.rows, () => true);
  expect(folded.map((line) => line.key)).toEqual(["talk", "task", "end"]);
  expect(above(transcript.row("wc")!, (key) => transcript.row(key))).toEqual(["task"]);
});

test("a row whose parent lies before the window is a root", () => {
  const transcript = build(said("m", "I count.", { parent_id: "somewhere" }));
  expect(outline(transcript.rows, () => false).map((line) => line.depth)).toEqual([0]);
});

test("building again without the words of finished items gives the same rows", () => {
  const events = [...turn("t1", () => said("a", "One"), () => called("c", "x"), () => resulted("r", "x", "out")), started("b"), delta("b", "op"), delta("b", "en")];
  const short = condensed(events);
  expect(short.filter((one) => one.type === "item.delta")).toHaveLength(2);
  expect(build(short).rows.map((row) => ({ ...row, last: 0 }))).toEqual(build(events).rows.map((row) => ({ ...row, last: 0 })));
});

test("the row of an event is the one it belongs to, or the nearest before it", () => {
  const transcript = build(turn("t", () => said("a", "Hello")));
  expect(transcript.rowAt(2)!.key).toBe("a");
  expect(transcript.rowAt(4)!.key).toBe("a");
  expect(transcript.rowAt(3)!.key).toBe("a");
  expect(transcript.rowAt(5)!.key).toBe("end t");
});
