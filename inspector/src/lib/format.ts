/** Numbers, times and paths for people. No state, no clock: `now` is always handed in. */

export function tokens(count: number | null | undefined): string {
  if (count === null || count === undefined) return "–";
  if (count < 1_000) return String(count);
  if (count < 1_000_000) return `${digits(count / 1_000)}k`;
  return `${digits(count / 1_000_000)}M`;
}

function digits(value: number): string {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1).replace(/\.0$/, "") : value.toFixed(2).replace(/\.?0+$/, "");
}

export function cost(usd: number | null | undefined): string {
  if (usd === null || usd === undefined) return "–";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toPrecision(2)}` : usd < 100 ? `$${usd.toFixed(2)}` : `$${Math.round(usd).toLocaleString("en")}`;
}

export function age(then: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  if (seconds < 60) return seconds < 5 ? "now" : `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  if (seconds < 86_400 * 60) return `${Math.floor(seconds / 86_400)} d`;
  return new Date(then).toISOString().slice(0, 10);
}

export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes} min ${Math.floor((ms % 60_000) / 1000)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** The time of day of an event, in the reader's zone. */
export function clock(time: string): string {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? time : date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
}

export function date(time: string | number): string {
  return new Date(time).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
}

/** The end of a path is what tells paths apart. */
export function shortPath(path: string | null | undefined, parts = 2): string {
  if (!path) return "";
  const names = path.split("/").filter(Boolean);
  return names.length <= parts ? path : `…/${names.slice(-parts).join("/")}`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  return size < 1024 * 1024 ? `${(size / 1024).toFixed(0)} kB` : `${(size / 1024 / 1024).toFixed(1)} MB`;
}

export function plural(count: number, word: string): string {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/** JSON text indented where it is JSON, as it is where it is not. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** One line out of many, for a summary. */
export function oneLine(text: string, longest = 160): string {
  const line = text.trim().replace(/\s+/g, " ");
  return line.length > longest ? `${line.slice(0, longest - 1)}…` : line;
}
