/** Light, dark, or what the system says. public/theme.js applies the choice before the first paint. */

export type Theme = "system" | "light" | "dark";

const KEY = "onetape.theme";
const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

function stored(): Theme {
  const theme = localStorage.getItem(KEY);
  return theme === "light" || theme === "dark" ? theme : "system";
}

class ThemeChoice {
  now = $state<Theme>(stored());

  turn(): void {
    this.now = NEXT[this.now];
    if (this.now === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, this.now);
    if (this.now === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.now;
  }
}

export const theme = new ThemeChoice();
