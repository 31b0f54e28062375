/** Whether somebody looks at this tab: streams sleep in one that is hidden for a while, and catch up when it is seen again. */

import type { Stream } from "../lib/stream";

const PATIENCE = 30_000;

/** Lets a stream sleep with the tab; what it gives back ends that. */
export function whileLookedAt(stream: Stream): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(() => stream.sleep(), PATIENCE);
    else stream.hurry();
  };
  document.addEventListener("visibilitychange", changed);
  addEventListener("online", changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", changed);
    removeEventListener("online", changed);
  };
}
