/** What a tool call says about itself, whichever agent made it: a title, a command, changed files. */

import type { FileRef, Image, Item, Json } from "../schema";
import { oneLine } from "./format";
import type { ToolRow } from "./transcript";

export interface Command {
  command: string | null;
  cwd: string | null;
  exit_code: number | null;
  stdout: string | null;
  stderr: string | null;
  duration_ms: number | null;
}

export type ToolState = "writing" | "waiting" | "running" | "done" | "failed";

export function toolName(row: ToolRow): string {
  return part(row.call, "tool_call")?.name || "tool";
}

export function toolArguments(row: ToolRow): string {
  return part(row.call, "tool_call")?.arguments ?? "";
}

export function toolOutput(row: ToolRow): string {
  return row.result?.status === "in_progress" ? row.streamed || text(row) : text(row) || row.streamed;
}

function text(row: ToolRow): string {
  return part(row.result, "tool_result")?.output ?? "";
}

export function toolState(row: ToolRow): ToolState {
  if (row.result) return row.result.status === "in_progress" ? "running" : row.result.status === "failed" ? "failed" : "done";
  if (!row.call) return "done";
  return row.call.status === "failed" ? "failed" : row.call.status === "in_progress" ? "writing" : "waiting";
}

/** The run of a command: the part that every agent's command results have. */
export function commandOf(row: ToolRow): Command | null {
  const told = row.result?.content.find((part): part is Json => part.type === "json")?.json;
  return isRecord(told) && "exit_code" in told && "command" in told ? (told as unknown as Command) : null;
}

export function filesOf(row: ToolRow): FileRef[] {
  return (row.result?.content ?? []).filter((part): part is FileRef => part.type === "file_ref");
}

export function imagesOf(row: ToolRow): Image[] {
  return (row.result?.content ?? []).filter((part): part is Image => part.type === "image");
}

const TELLING = ["command", "cmd", "file_path", "filePath", "path", "pattern", "query", "url", "description", "prompt", "title"];

/** The one line that tells this call from its neighbours. */
export function toolTitle(row: ToolRow): string {
  const command = commandOf(row)?.command;
  if (command) return oneLine(command);
  const told = parsed(toolArguments(row));
  if (!isRecord(told)) return oneLine(toolArguments(row));
  for (const key of TELLING) {
    const value = told[key];
    if (typeof value === "string" && value) return oneLine(value);
    if (Array.isArray(value) && value.every((word) => typeof word === "string")) return oneLine(value.join(" "));
  }
  return Object.keys(told).length ? oneLine(toolArguments(row)) : "";
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function part<Type extends Item["content"][number]["type"]>(item: Item | null, type: Type): Extract<Item["content"][number], { type: Type }> | undefined {
  return item?.content.find((found): found is Extract<Item["content"][number], { type: Type }> => found.type === type);
}
