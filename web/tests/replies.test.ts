import { expect, test } from "vitest";
import { withoutReplies } from "../src/replies";

test.each([
  ["device attributes", "\x1b[?1;2c"],
  ["secondary attributes", "\x1b[>0;276;0c"],
  ["cursor position", "\x1b[12;40R"],
  ["cursor position at the top left", "\x1b[1;1R"],
  ["status", "\x1b[0n"],
  ["mode", "\x1b[?2004;1$y"],
  ["keyboard flags", "\x1b[?0u"],
  ["window size", "\x1b[8;40;120t"],
  ["focus", "\x1b[I"],
  ["colour", "\x1b]11;rgb:0000/0000/0000\x1b\\"],
  ["clipboard", "\x1b]52;c;\x07"],
  ["settings", "\x1bP1$r0m\x1b\\"],
])("an answer is dropped: %s", (_, answer) => {
  expect(withoutReplies(answer)).toBe("");
  expect(withoutReplies(`a${answer}b`)).toBe("ab");
});

test.each([
  ["text", "hello"], ["Escape", "\x1b"], ["arrows", "\x1b[A\x1bOB"], 
  ["mouse", "\x1b[<0;10;5M"], ["a paste", "\x1b[200~text\x1b[201~"], ["Alt", "\x1bf"],
])("a key stays: %s", (_, keys) => expect(withoutReplies(keys)).toBe(keys));
