/** Every event of a session in short, read page by page when somebody wants the list or the timeline. */

import { brief, type Brief } from "../lib/timeline";
import { app } from "./app.svelte";

const PAGE = 5_000;

export class EventIndex {
  briefs = $state.raw<Brief[]>([]);
  done = $state(false);
  private stopped = false;
  private running = false;

  constructor(private readonly id: string) {}

  stop(): void {
    this.stopped = true;
  }

  /** Reads on from where it stands. */
  async read(): Promise<void> {
    if (this.running) return;
    this.running = true;
    this.done = false;
    await app.attempt(() => this.pages());
    this.running = false;
    this.done = true;
  }

  private async pages(): Promise<void> {
    for (let more = true; more && !this.stopped; ) {
      const after = this.briefs[this.briefs.length - 1]?.sequence ?? 0;
      const page = await app.api.events(this.id, after, PAGE);
      this.briefs = [...this.briefs, ...page.events.map(brief)];
      more = page.hasMore && page.events.length > 0;
    }
  }
}
