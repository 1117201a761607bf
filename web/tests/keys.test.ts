import { expect, test, vi } from "vitest";

// The module reads the browser's name once; the rules themselves are pure.
vi.stubGlobal("navigator", { platform: "Linux x86_64" });
vi.stubGlobal("matchMedia", () => ({ matches: false, addEventListener: () => undefined }));
const { commandFor } = await import("../src/keys");
const { controlled } = await import("../src/keybar");

const press = (keys: string) => {
  const parts = keys.split("+");
  const key = parts.pop() as string;
  return {
    key: parts.includes("Shift") ? key.toUpperCase() : key,
    code: /^[a-z]$/.test(key) ? `Key${key.toUpperCase()}` : /^\d$/.test(key) ? `Digit${key}` : key,
    ctrlKey: parts.includes("Ctrl"), metaKey: parts.includes("Cmd"), altKey: parts.includes("Alt"), shiftKey: parts.includes("Shift"),
  };
};

test.each([
  ["Ctrl+k", "palette"], ["Ctrl+Shift+g", "grid"], ["Ctrl+Shift+n", "new"], ["Ctrl+Shift+a", "activity"], ["Ctrl+Shift+f", "find"],
  ["Ctrl+Shift+c", "copy"], ["Alt+1", "session-1"], ["Alt+9", "session-9"], ["F6", "next-region"], ["Shift+F6", "previous-region"],
])("%s is the page's", (keys, command) => expect(commandFor(press(keys), false)).toBe(command));

test.each(["k", "Ctrl+c", "Ctrl+a", "Ctrl+f", "Alt+0", "Alt+b", "Ctrl+Alt+k", "Ctrl+Shift+z", "Escape", "Ctrl+Alt+1", "Cmd+k"])(
  "%s is the terminal's", (keys) => expect(commandFor(press(keys), false)).toBeNull(),
);

test("on a Mac Ctrl stays with the terminal", () => {
  expect([commandFor(press("Ctrl+k"), true), commandFor(press("Cmd+k"), true)]).toEqual([null, "palette"]);
});

test.each([["c", "\x03"], ["[", "\x1b"], [" ", "\0"], ["?", "\x7f"], ["1", "1"], ["é", "é"]])("Ctrl and %s", (key, sent) => {
  expect(controlled(key)).toBe(sent);
});
