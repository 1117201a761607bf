import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "/",
  build: {
    // From here the build hook puts it into the package, file by file: a running host serves a whole page all the time.
    outDir: "node_modules/.built",
    emptyOutDir: true,
    // Nothing is inlined: the page's content security policy allows its own files only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    chunkSizeWarningLimit: 900,
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
