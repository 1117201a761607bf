import { expect, test } from "vitest";
import { escaped, truthful, WHOLE } from "../src/truth";

test.each([
  ["plain", "ls -la", "ls -la", null],
  ["lines", "a\r\nb\nc", "a⏎\nb⏎\nc", "It has 3 lines"],
  ["a return that hides", "rm -rf /\rls", "rm -rf /⏎\nls", "It has 2 lines"],
  ["control", "a\x1b[201~\x7f\tb\x01", "a⟨ESC⟩[201~⟨DEL⟩⟨TAB⟩b⟨U+0001⟩", "control or invisible"],
  ["turned around", "a\u202eb\u2028", "a⟨U+202E⟩b⟨U+2028⟩", "It has 2 lines"],
  ["invisible", "a\u3164b\u{e0041}", "a⟨U+3164⟩b⟨U+E0041⟩", "control or invisible"],
  ["joined letters", "a\u200db", "a⟨U+200D⟩b", "control or invisible"],
  ["emoji", "👩‍💻 ❤️ 👩🏽‍🚀", "👩‍💻 ❤️ 👩🏽‍🚀", null],
])("%s", (_name, text, head, warning) => {
  const shown = truthful(text);
  expect([shown.head, shown.gap, shown.tail]).toEqual([head, null, ""]);
  if (warning === null) expect(shown.warning).toBeNull();
  else expect(shown.warning).toContain(warning);
});

test("a long text is shown by both ends and its size, and lines between them are warned of", () => {
  expect(truthful("x".repeat(WHOLE)).gap).toBeNull();
  const shown = truthful(`${"a".repeat(WHOLE)}\n${"b".repeat(WHOLE)}`);
  expect([shown.head, shown.tail]).toEqual(["a".repeat(WHOLE / 2), "b".repeat(WHOLE / 2)]);
  expect(shown.gap).toBe(`${WHOLE + 1} of ${2 * WHOLE + 1} characters are not shown`);
  expect(shown.warning).toContain("2 lines");
});

test("raw JSON shows what would turn it around or not be seen as escapes, and its own lines as lines", () => {
  const json = JSON.stringify({ name: "a\u202eb\u200b\u{e0041}\u007f\n é👩‍💻" }, null, 2);
  expect(escaped(json)).toBe('{\n  "name": "a\\u202eb\\u200b\\udb40\\udc41\\u007f\\n é👩‍💻"\n}');
  expect(JSON.parse(escaped(json))).toEqual(JSON.parse(json));
});
