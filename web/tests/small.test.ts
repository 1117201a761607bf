import { expect, test } from "vitest";
import { retryDelay } from "../src/backoff";
import { score } from "../src/fuzzy";
import { parsePrefs } from "../src/prefs";
import { age, duration, exitText, labelOf, lastSegments, nextAgeChange, plain, program, sandboxMark } from "../src/text";
import { meaningOfCheck, ticketFrom, ticketIn, whyNoTicket } from "../src/ticket";
import { session } from "./session";

test("retries spread, grow and stay bounded", () => {
  expect([0, 1, 2, 3].map((n) => retryDelay(n, 1))).toEqual([200, 400, 800, 1600]);
  expect([retryDelay(0, 0), retryDelay(99, 0), retryDelay(99, 0.999)]).toEqual([120, 4800, 7997]);
});

test.each([["#ticket=abc_-1", "abc_-1"], ["#other=1", null], ["", null], ["#ticket=", null]])("ticket in %s", (fragment, ticket) => {
  expect(ticketIn(fragment)).toBe(ticket);
});

test.each([
  ["http://127.0.0.1:7777/#ticket=abc_-1", "abc_-1"],
  ["  #ticket=abc\n", "abc"],
  [" abc_-1 ", "abc_-1"],
  ["http://127.0.0.1:7777/#other", null],
  [" ", null],
])("pasted to sign in: %j", (pasted, ticket) => expect(ticketFrom(pasted)).toBe(ticket));

test.each([
  ["2.1.332", "Claude Code 2.1.332"], [null, "Claude Code"], [" ", "Claude Code"], ["1\u202e2", "Claude Code 1 2"],
])("the program and its version %j", (cli_version, text) => {
  expect(program(session({ cli_version }))).toBe(text);
});

test("names of programs cannot turn the text around or hide in it", () => {
  expect(plain("a\u202eb\u0007c\nd\u200be")).toBe("a b c d e");
  expect(plain("👩‍💻 ok")).toBe("👩‍💻 ok");
});

test("a session's name: own, else its title without the agent's mark, else its id", () => {
  expect(labelOf(session({ name: "mine", title: "t" }))).toBe("mine");
  expect(labelOf(session({ title: "✳ shop-a0" }))).toBe("shop-a0");
  expect(labelOf(session({ name: " ", title: "" }))).toBe("aaaaaaaa");
});

test("ages and when they change next", () => {
  const hour = 3_600_000;
  expect([0, 59_999, 60_000, hour, 25 * hour].map((passed) => age(0, passed))).toEqual(["now", "now", "1m", "1h", "1d"]);
  expect(age(null, 5)).toBe("");
  expect([nextAgeChange([0], 10), nextAgeChange([0], 61_000), nextAgeChange([0, 50_000], 61_000), nextAgeChange([], 1)]).toEqual([60_000, 120_000, 110_000, Infinity]);
});

test("durations", () => expect([12, 1500, 61_000, 3_700_000].map(duration)).toEqual(["12 ms", "1.5 s", "1 min 1 s", "1 h 2 min"]));

test("a session in a sandbox has a quiet mark", () => {
  expect(sandboxMark(session({ sandbox: true }))).toBe("▢ sandbox");
  expect(sandboxMark(session())).toBe("");
});

test("how a session ended", () => {
  expect(exitText(session({ status: "exited", exit: { code: 129, signal: null } }))).toBe("ended");
  expect(exitText(session({ status: "failed", exit: { code: 3, signal: null } }))).toBe("ended with code 3");
  expect(exitText(session({ status: "failed", exit: { code: null, signal: 9 } }))).toBe("ended by signal 9");
});

test("paths", () => expect(["/a/b/c", "/a", "/"].map((p) => lastSegments(p))).toEqual(["b/c", "a", "/"]));

test("stored preferences of the wrong kind count as absent", () => {
  const prefs = parsePrefs('{"theme":"light","sidebar":9999,"collapsed":"x","activity":1,"evil":2}');
  expect([prefs.theme, prefs.sidebar, prefs.collapsed, prefs.activity]).toEqual(["light", 640, [], false]);
  expect(parsePrefs("{broken").theme).toBe("system");
  expect("evil" in prefs).toBe(false);
});

test("the palette finds letters in order, whole words first", () => {
  expect(score("xyz", "payment")).toBeNull();
  expect(score("pay", "payment") ?? 0).toBeGreaterThan(score("pmt", "payment") ?? 0);
  expect(score("web", "payment webhooks") ?? 0).toBeGreaterThan(score("ebh", "payment webhooks") ?? 0);
});

test.each([
  [204, "there", /^$/], [401, "signed-out", /another one/], [403, "refused", /switchboard url/], [421, "refused", /switchboard url/],
  [429, "busy", /too many pages/], [503, "busy", /closing/], [500, "busy", /status 500/],
])("why no page connects: %i", (status, answer, text) => {
  const said = meaningOfCheck(status);
  expect(said.answer).toBe(answer);
  expect(said.text).toMatch(text);
});

test.each([[401, /used before/], [400, /used before/], [429, /Wait a minute/], [403, /addresses that it prints/]])("why no ticket was taken: %i", (status, text) =>
  expect(whyNoTicket(status)).toMatch(text));
