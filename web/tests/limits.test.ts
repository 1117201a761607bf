import { expect, test } from "vitest";
import { unfit } from "../src/limits";

const open = { type: "open", mode: "new" };

test.each([
  ["the longest name", { ...open, name: "x".repeat(256) }, null],
  ["one more", { ...open, name: "x".repeat(257) }, "The name has 257 characters; it may have 256."],
  ["code points, as the host counts", { type: "rename", name: "👍".repeat(256) }, null],
  ["a directory", { ...open, cwd: "/".repeat(5000) }, "The directory has 5000 characters; it may have 4096."],
  ["half a character", { type: "rename", name: "a\ud83d" }, "The name has half a character in it, which cannot be sent."],
  ["nothing said", { ...open, name: null }, null],
  ["no texts at all", { type: "list", closed: 50 }, null],
])("%s", (_, message, problem) => expect(unfit(message)).toBe(problem));
