/** What every view shares: the token, the address, the sessions and asks of this machine, and messages to the reader. */

import { Api, Problem, search, type AgentInfo, type Pending, type SessionInfo } from "../lib/api";
import { address, parseRoute, tokenOf, type Route } from "../lib/route";
import { Stream, type Frame } from "../lib/stream";
import { whileLookedAt } from "./looked";

const TOKEN = "onetape.token";
export const PAGE = 200;
/** Events that change what the list or the tray shows; the words of an answer do not. */
const NEWS = /"type": ?"(?:session|turn|permission|question)\.|"type": ?"error"/;

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "bad";
}

class App {
  token = $state<string | null>(null);
  locked = $state(false);
  route = $state.raw<Route>({ view: "sessions" });
  sessions = $state.raw<SessionInfo[]>([]);
  hasMore = $state(false);
  loaded = $state(false);
  pending = $state.raw<Pending[]>([]);
  agents = $state.raw<AgentInfo[]>([]);
  online = $state(true);
  now = $state(Date.now());
  toasts = $state.raw<Toast[]>([]);
  panel = $state<"none" | "help" | "tray">("none");
  readonly api = new Api(() => this.token, () => (this.locked = true));
  private stream: Stream | null = null;
  /** Where the stream of all events goes on; the first list tells the end of the log. */
  private position: string | number | null = null;
  private due: ReturnType<typeof setTimeout> | undefined;
  private toastNumber = 0;
  private refreshed = 0;

  start(): void {
    const told = tokenOf(location.hash);
    if (told) this.keep(told);
    else this.token = sessionStorage.getItem(TOKEN);
    if (location.hash) history.replaceState(null, "", location.pathname + location.search);
    this.route = parseRoute(new URL(location.href));
    addEventListener("popstate", () => (this.route = parseRoute(new URL(location.href))));
    setInterval(() => this.tick(), 10_000);
  }

  /** Ages grow; and a tab that sleeps still wants to say in its title that somebody waits. */
  private tick(): void {
    this.now = Date.now();
    if (document.hidden && this.stream && this.now - this.refreshed > 30_000) void this.refresh();
  }

  unlock(token: string): void {
    this.keep(token);
    location.reload();
  }

  private keep(token: string): void {
    this.token = token;
    sessionStorage.setItem(TOKEN, token);
  }

  go(route: Route, replace = false): void {
    history[replace ? "replaceState" : "pushState"](null, "", address(route));
    this.route = parseRoute(new URL(location.href));
  }

  /** Loads the lists and keeps them fresh. Called once the first view has what it needs, so that it waits for nothing. */
  watch(): void {
    if (this.stream) return;
    this.stream = new Stream({
      connect: (signal) => this.listen(signal),
      frames: (frames) => this.hear(frames),
      online: (up) => this.connected(up),
      final: (reason) => reason instanceof Problem && reason.status === 401,
    });
    whileLookedAt(this.stream);
  }

  /** What the list says and what comes after it: no gap between them. */
  private async listen(signal: AbortSignal): Promise<Response> {
    if (this.position === null) await this.load();
    return this.api.fetch("GET", `/v1/events/sse${search({ after: this.position })}`, { signal });
  }

  private connected(up: boolean): void {
    if (up && !this.online) this.soon();
    this.online = up;
  }

  private hear(frames: Frame[]): void {
    this.position = frames[frames.length - 1]?.id ?? this.position;
    if (frames.some((frame) => NEWS.test(frame.data))) this.soon();
  }

  /** Soon, and once for a burst of events. */
  soon(): void {
    this.due ??= setTimeout(() => {
      this.due = undefined;
      void this.refresh();
    }, 200);
  }

  async refresh(): Promise<void> {
    await this.quietly(() => this.load());
  }

  private async load(): Promise<void> {
    const limit = Math.max(PAGE, this.sessions.length);
    const [list, asks] = await Promise.all([
      this.api.get<{ sessions: SessionInfo[]; position?: number }>("/v1/sessions", { limit }),
      this.api.get<{ pending: Pending[] }>("/v1/pending"),
    ]);
    this.sessions = list.sessions;
    this.hasMore = list.sessions.length >= limit;
    this.pending = asks.pending;
    this.position ??= list.position ?? null;
    this.loaded = true;
    this.refreshed = Date.now();
  }

  async loadMore(): Promise<void> {
    const last = this.sessions[this.sessions.length - 1];
    if (!last) return;
    await this.quietly(async () => {
      const more = await this.api.get<{ sessions: SessionInfo[] }>("/v1/sessions", { limit: PAGE, before: last.sessionId });
      const known = new Set(this.sessions.map((session) => session.sessionId));
      this.sessions = [...this.sessions, ...more.sessions.filter((session) => !known.has(session.sessionId))];
      this.hasMore = more.sessions.length >= PAGE;
    });
  }

  async loadAgents(): Promise<void> {
    await this.quietly(async () => {
      this.agents = (await this.api.get<{ agents: AgentInfo[] }>("/v1/agents")).agents;
    });
  }

  session(id: string): SessionInfo | undefined {
    return this.sessions.find((session) => session.sessionId === id);
  }

  /** Does something and tells the reader when it fails; whether it worked. */
  async attempt(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (reason) {
      this.say(reason instanceof Error ? reason.message : String(reason), "bad");
      return false;
    }
  }

  /** The same where a failure shows anyway (the connection sign, the token form). */
  private async quietly(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (reason) {
      if (!(reason instanceof Problem) || (!reason.unreachable && reason.status !== 401)) this.say(String(reason), "bad");
    }
  }

  say(text: string, tone: Toast["tone"] = "plain"): void {
    const toast = { id: ++this.toastNumber, text, tone };
    this.toasts = [...this.toasts.slice(-3), toast];
    setTimeout(() => (this.toasts = this.toasts.filter((other) => other !== toast)), tone === "bad" ? 8_000 : 3_000);
  }

  async copy(text: string, what: string): Promise<void> {
    await this.attempt(async () => {
      await navigator.clipboard.writeText(text);
      this.say(`${what} copied`);
    });
  }
}

export const app = new App();
