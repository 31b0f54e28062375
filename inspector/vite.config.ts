import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

/** The daemon to talk to while developing: `ONETAPE_URL=http://127.0.0.1:2468 npm run dev`. */
const daemon = process.env.ONETAPE_URL ?? "http://127.0.0.1:2468";

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: "../src/onetape/server/static",
    emptyOutDir: true,
    // The page's policy forbids data: and inline anything, so nothing may be inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    // Browsers that know light-dark() themselves: what older ones would be given is four times the size.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/v1": daemon } },
  test: { environment: "jsdom", include: ["tests/**/*.test.ts"] },
});
