/**
 * Server-sent events over `fetch`, reconnecting by position.
 *
 * The position is whatever the server calls `id`; a reader that hands it back on the next connection
 * gets what follows it, so a restart or a gap in the network loses nothing. What to do about an event
 * that comes twice is the listener's business (it knows sequences, this file does not).
 */

export interface Frame {
  id: string | null;
  data: string;
}

/** Frames of a stream cut anywhere: `push` what came, take the frames that are whole. */
export class FrameReader {
  private rest = "";

  push(chunk: string): Frame[] {
    const text = (this.rest + chunk).replaceAll("\r\n", "\n");
    const blocks = text.split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(frame).filter((found) => found !== null);
  }
}

function frame(block: string): Frame | null {
  let id: string | null = null;
  const data: string[] = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("data:")) data.push(field(line, 5));
    else if (line.startsWith("id:")) id = field(line, 3);
  }
  return data.length ? { id, data: data.join("\n") } : null;
}

function field(line: string, from: number): string {
  return line.startsWith(" ", from) ? line.slice(from + 1) : line.slice(from);
}

export interface StreamOptions {
  /** Opens a connection that tells what comes after the present position. */
  connect: (signal: AbortSignal) => Promise<Response>;
  frames: (frames: Frame[]) => void;
  /** Whether the stream is up; told on every change. */
  online: (up: boolean) => void;
  /** Whether a failure is final (no such session, no token): then there is no next attempt. */
  final?: (reason: unknown) => boolean;
}

/** Heartbeats come every 10 seconds: this much silence is a dead connection that nobody closed. */
const SILENCE = 30_000;
const SHORTEST = 250;
const LONGEST = 5_000;

/** Keeps one stream open until it is stopped. */
export class Stream {
  private abort = new AbortController();
  private stopped = false;
  private asleep = false;
  private wait = SHORTEST;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private nap: (() => void) | undefined;

  constructor(private readonly options: StreamOptions) {
    void this.run();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.silence);
    this.abort.abort();
    this.nap?.();
  }

  /** Hangs up until `hurry`: a tab that nobody looks at must not keep one of the few connections a browser allows to a host. */
  sleep(): void {
    this.asleep = true;
    this.abort.abort();
  }

  /** Tries at once instead of after the rest of the pause (the network is back, the tab is looked at again). */
  hurry(): void {
    this.asleep = false;
    this.nap?.();
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.once();
      } catch (reason) {
        if (!this.stopped && this.options.final?.(reason)) this.stopped = true;
      }
      clearTimeout(this.silence);
      if (!this.asleep) this.options.online(false);
      if (!this.stopped) await this.pause();
    }
  }

  private async once(): Promise<void> {
    this.abort = new AbortController();
    const answer = await this.options.connect(this.abort.signal);
    if (!answer.body) throw new Error("an answer without a body");
    this.options.online(true);
    this.wait = SHORTEST;
    await this.read(answer.body.getReader());
  }

  private async read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    const frames = new FrameReader();
    for (;;) {
      clearTimeout(this.silence);
      this.silence = setTimeout(() => this.abort.abort(), SILENCE);
      const { done, value } = await reader.read();
      if (done || this.stopped) return;
      const found = frames.push(decoder.decode(value, { stream: true }));
      if (found.length) this.options.frames(found);
    }
  }

  private async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = this.asleep ? undefined : setTimeout(resolve, this.wait);
      this.nap = () => (clearTimeout(timer), resolve());
    });
    this.nap = undefined;
    this.wait = Math.min(this.wait * 2, LONGEST);
  }
}
