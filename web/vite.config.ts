import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/switchboard/page/static",
    emptyOutDir: true,
    // Nothing is inlined: the page's content security policy allows its own files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 900,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
