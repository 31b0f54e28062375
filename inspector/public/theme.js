// Before the first paint, so that a chosen theme never flashes the other one. The page itself is src/state/theme.svelte.ts.
try {
  const theme = localStorage.getItem("onetape.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be forbidden: then the system's theme it is.
}
