import { expect, test } from "vitest";
import { changed, goesOn, gone, inKnownOrder, keyOf, knownDirectories, matches, merged, NO_FILTER, projects } from "../src/catalog";
import { session } from "./session";

const closed = (id: string, at: number, cwd = "/p/shop") =>
  session({ id, state: "closed", status: "closed", handle: null, modified_at: at, cwd });

test("a conversation with a terminal is not listed again as closed, whatever the case of its id", () => {
  expect(merged([session({ id: "AB" }), closed("ab", 1), closed("cd", 2)]).map(keyOf)).toEqual(["h1", "icd"]);
});

test("a reconnect moves no project: what is known keeps its order, what is new comes last", () => {
  const known = [session({ id: "a", cwd: "/one" }), session({ id: "b", cwd: "/two", handle: 2 })];
  const fresh = [session({ id: "c", handle: 3 }), session({ id: "B", handle: 2 }), closed("d", 1), session({ id: "a" })];
  expect(inKnownOrder(known, fresh).map((s) => s.id)).toEqual(["a", "B", "c", "d"]);
});

test("a resumed conversation replaces its closed entry; it and the others stay where they are", () => {
  const before = [closed("a", 2), closed("b", 1)];
  expect(changed(before, session({ id: "A", handle: 5 })).map(keyOf)).toEqual(["h5", "ib"]);
});

test("a resume moves no project", () => {
  const open = (id: string, handle: number, cwd: string) => session({ id, handle, cwd });
  const before = [closed("a", 1, "/one"), open("b", 1, "/two"), open("c", 2, "/one")];
  const after = changed(before, open("a", 3, "/one"));
  expect([before, after].map((list) => projects(list, NO_FILTER, 0).map((p) => p.path))).toEqual([["/one", "/two"], ["/one", "/two"]]);
});

test("a change keeps the place in the list", () => {
  const before = [session({ handle: 1, id: "a" }), session({ handle: 2, id: "b" })];
  expect(changed(before, session({ handle: 1, id: "a", status: "busy" })).map((s) => s.status)).toEqual(["busy", "idle"]);
});

test("an agent's session that has gone stays as closed, a shell's does not", () => {
  expect(gone([session({ id: "a" })], 1).map((s) => [keyOf(s), s.status])).toEqual([["ia", "closed"]]);
  expect(gone([session({ id: "a", kind: "shell" })], 1)).toEqual([]);
});

test("the old terminal of a conversation that is open again goes without a trace", () => {
  const old = session({ id: "a", handle: 1, state: "exited", status: "exited" });
  expect(gone([old, session({ id: "A", handle: 2 })], 1).map(keyOf)).toEqual(["h2"]);
});

test("projects with running sessions come first; in them terminals by age, then closed ones, newest first", () => {
  const list = [closed("x", 9, "/p/old/docs"), session({ handle: 4, id: "d" }), closed("n", 5, "/home/me/src/shop"), session({ handle: 2, id: "b" })];
  const shown = projects(list, NO_FILTER, 0);
  expect(shown.map((p) => p.title)).toEqual(["src/shop", "old/docs"]);
  expect(shown[0]?.sessions.map(keyOf)).toEqual(["h2", "h4", "in"]);
});

test.each([
  ["part of the name", "pay", true], ["two words in any order", "shop pay", true], ["the CLI", "claude", true],
  ["the id", "aaaaaaaa", true], ["something else", "docs", false],
])("search by %s", (_, text, found) => {
  expect(matches(session({ name: "Payment", cwd: "/p/shop" }), { ...NO_FILTER, text }, 0)).toBe(found);
});

test("chips", () => {
  const old = closed("a", 50);
  expect([matches(old, { ...NO_FILTER, running: true }, 0), matches(session(), { ...NO_FILTER, running: true }, 0)]).toEqual([false, true]);
  expect([matches(old, { ...NO_FILTER, today: true }, 51), matches(old, { ...NO_FILTER, today: true }, 50)]).toEqual([false, true]);
});

test("known directories: most recent first, each once", () => {
  expect(knownDirectories([closed("a", 1, "/a"), closed("b", 3, "/b"), closed("c", 5, "/a")])).toEqual(["/a", "/b"]);
});

const ended = session({ id: "a", handle: 1, state: "exited", status: "exited" });
const again = session({ id: "A", handle: 5 });

test.each([
  ["ended, and runs again", ended, [ended, again], "h5"],
  ["ended and removed, and runs again", ended, [again], "h5"],
  ["closed, and opened", closed("a", 1), [again], "h5"],
  ["ended, and ended again", ended, [ended, { ...again, state: "exited" as const }], "h1"],
  ["it runs where it did", session({ id: "a" }), [session({ id: "a" }), again], "h1"],
  ["it goes on under another id", session({ id: "a" }), [session({ id: "new" }), again], "h1"],
  ["it ends", session({ id: "a" }), [ended], "h1"],
  ["another one opens", ended, [ended, session({ id: "b", handle: 2 })], "h1"],
  ["it is closed", ended, [closed("A", 1)], "ia"],
  ["it is not known any more", ended, [session({ id: "b", handle: 2 })], undefined],
])("where a conversation goes on: %s", (_, before, sessions, key) => {
  const now = goesOn(before, sessions);
  expect(now && keyOf(now)).toBe(key);
});
