/**
 * The daemon's HTTP API, as this page uses it: paths, bodies and problems, nothing of what they mean.
 *
 * Streams go through `fetch` as well (stream.ts): an `EventSource` cannot carry the token.
 */

import type { Event } from "../schema";

export interface SessionUsage {
  inputTokens?: number | null;
  outputTokens?: number | null;
  reasoningTokens?: number | null;
  cacheReadTokens?: number | null;
  cacheWriteTokens?: number | null;
  costUsd?: number | null;
}

export type SessionStatus = "idle" | "running" | "waiting" | "ended" | "error";

export interface SessionInfo {
  sessionId: string;
  agent: string;
  agentMode: string | null;
  permissionMode: string | null;
  model: string | null;
  variant: string | null;
  nativeSessionId: string | null;
  ended: boolean;
  eventCount: number;
  createdAt: number;
  updatedAt: number;
  directory: string | null;
  title: string | null;
  status: SessionStatus;
  origin: "live" | "imported";
  /** The messages that wait for the running turn to end. */
  queued?: { number: number; message: string }[];
  usage?: SessionUsage | null;
  turns?: number | null;
  error?: string | null;
  /** How many messages of the agent nobody could make sense of. */
  strange?: number;
  resumedFrom?: string | null;
}

export interface AgentInfo {
  id: string;
  installed: boolean;
  credentialsAvailable: boolean;
  version?: string | null;
  path?: string | null;
  capabilities: Record<string, boolean>;
}

export interface Mode {
  id: string;
  name: string;
  description: string;
}

export interface Model {
  id: string;
  name?: string | null;
  variants?: string[] | null;
  defaultVariant?: string | null;
}

export interface Pending {
  sessionId: string;
  agent: string;
  type: "permission" | "question";
  requestedAt: string | number;
  data: unknown;
}

export interface Hit {
  sessionId: string;
  sequence: number;
  itemId: string | null;
  agent: string;
  kind: string;
  time: string;
  snippet: string;
}

export interface UsageRow {
  key: string | null;
  turns: number;
  inputTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costUsd: number | null;
  unpricedTokens: number;
}

export interface EventPage {
  events: Event[];
  hasMore: boolean;
}

export interface Attachment {
  path: string;
  mime?: string;
  filename?: string;
}

/** What the daemon answers instead of an answer; `status` 0: it could not be reached. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly kind: string,
    message: string,
  ) {
    super(message);
  }

  get unreachable(): boolean {
    return this.status === 0;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;

export class Api {
  constructor(
    private readonly token: () => string | null,
    private readonly refused: () => void = () => undefined,
  ) {}

  async get<T>(path: string, query: Query = {}): Promise<T> {
    return (await (await this.fetch("GET", path + search(query))).json()) as T;
  }

  async post<T = void>(path: string, body: unknown = {}): Promise<T> {
    return this.write<T>("POST", path, body);
  }

  async patch(path: string, body: unknown): Promise<void> {
    await this.write("PATCH", path, body);
  }

  async delete(path: string): Promise<void> {
    await this.fetch("DELETE", path);
  }

  async put(path: string, query: Query, body: Blob): Promise<void> {
    await this.fetch("PUT", path + search(query), { body, headers: { "Content-Type": "application/octet-stream" } });
  }

  async blob(path: string, query: Query = {}): Promise<Blob> {
    return (await this.fetch("GET", path + search(query))).blob();
  }

  /** The events after `offset`. */
  async events(session: string, offset: number, limit: number, raw = false): Promise<EventPage> {
    return this.get(`${sessionPath(session)}/events`, { offset, limit, includeRaw: raw ? true : undefined });
  }

  /** The answer itself, or a `Problem`. */
  async fetch(method: string, path: string, init: RequestInit = {}): Promise<Response> {
    const token = this.token();
    const headers = { ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(init.headers ?? {}) };
    const answer = await fetch(path, { ...init, method, headers, cache: "no-store" }).catch((reason: unknown) => {
      if (reason instanceof DOMException && reason.name === "AbortError") throw reason;
      throw new Problem(0, "unreachable", "The daemon does not answer.");
    });
    if (answer.ok) return answer;
    if (answer.status === 401) this.refused();
    throw await problem(answer);
  }

  private async write<T>(method: string, path: string, body: unknown): Promise<T> {
    const answer = await this.fetch(method, path, { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
    const text = await answer.text();
    return (text ? JSON.parse(text) : undefined) as T;
  }
}

export function sessionPath(session: string): string {
  return `/v1/sessions/${encodeURIComponent(session)}`;
}

export function search(query: Query): string {
  const told = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return told.length ? `?${new URLSearchParams(told.map(([key, value]) => [key, String(value)]))}` : "";
}

async function problem(answer: Response): Promise<Problem> {
  const told = (await answer.json().catch(() => ({}))) as { type?: string; title?: string; detail?: string };
  const kind = told.type?.split(":").pop() ?? String(answer.status);
  return new Problem(answer.status, kind, told.detail ?? told.title ?? `The daemon answered ${answer.status}.`);
}

/** The same request for a terminal. The token stays a variable: what is copied is pasted into chats and tickets. */
export function curl(origin: string, path: string, body?: unknown): string {
  const lines = [`curl -sS -H "Authorization: Bearer $ONETAPE_TOKEN" '${quoted(origin + path)}'`];
  if (body !== undefined) lines.push(`  -H 'Content-Type: application/json' -d '${quoted(JSON.stringify(body))}'`);
  return lines.join(" \\\n");
}

function quoted(text: string): string {
  return text.replaceAll("'", "'\\''");
}
