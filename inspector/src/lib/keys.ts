/** The keyboard: one table, which the page obeys and the help shows. */

export interface Key {
  key: string;
  about: string;
}

export interface Group {
  name: string;
  keys: Key[];
}

export const GROUPS: Group[] = [
  {
    name: "Everywhere",
    keys: [
      { key: "?", about: "This help" },
      { key: "/", about: "Search all transcripts" },
      { key: "s", about: "Sessions" },
      { key: "n", about: "Start a session" },
      { key: "u", about: "Usage" },
      { key: "w", about: "What waits for you" },
      { key: "t", about: "Theme: system, light, dark" },
      { key: "Esc", about: "Close, or leave a field" },
    ],
  },
  {
    name: "In a list of sessions or hits",
    keys: [
      { key: "j / k", about: "Next, previous" },
      { key: "Enter", about: "Open" },
      { key: "f", about: "Filter" },
    ],
  },
  {
    name: "In a transcript",
    keys: [
      { key: "j / k", about: "Next, previous row" },
      { key: "] / [", about: "Next, previous turn" },
      { key: "g / G", about: "Beginning, end" },
      { key: "Enter or o", about: "Unfold or fold the row" },
      { key: "x", about: "Fold or unfold a subagent" },
      { key: "e / E", about: "Unfold, fold everything" },
      { key: "i", about: "Under the hood of the row" },
      { key: "d", about: "Open or close under the hood" },
      { key: "l", about: "Copy a link to the row" },
      { key: "c", about: "Write a message" },
      { key: ".", about: "Interrupt the turn" },
      { key: "y / a / r", about: "Permission: once, always, refuse" },
    ],
  },
  {
    name: "In the message field",
    keys: [
      { key: "Enter", about: "Send (Shift+Enter: a new line)" },
      { key: "↑ / ↓", about: "Earlier messages" },
      { key: "Esc", about: "Back to the transcript" },
    ],
  },
];

/** Whether a key was meant for a field or a browser shortcut. */
export function isForOthers(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  const target = event.target as HTMLElement | null;
  return target !== null && (["TEXTAREA", "SELECT"].includes(target.tagName) || target.isContentEditable || isTyped(target));
}

function isTyped(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit"].includes(target.type);
}
