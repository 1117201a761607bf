import { expect, test } from "vitest";
import type { TriggerActivity } from "../src/messages";
import { explain, MAX_TRIGGERS, nothingToType, outcomeOf, submittedRank, type Trigger, withStep } from "../src/triggers";
import reasons from "./reasons.json";

const step = (fields: Partial<TriggerActivity> = {}): TriggerActivity => ({
  type: "trigger", name: "one", at: 1, step: "received", action: "command", session_id: "a", ok: null, submitted: null, error: null, reason: null, outcome: null,
  uncertain: false, detail: null, target: null, ...fields,
});
const only = (...steps: TriggerActivity[]): Trigger => steps.reduce<Trigger[]>(withStep, [])[0] as Trigger;

test("the steps of one request are one entry, newest request first", () => {
  const list = [step(), step({ name: "two", at: 2 }), step({ at: 3, step: "done", ok: true, action: "" })].reduce<Trigger[]>(withStep, []);
  expect(list.map((t) => [t.name, t.steps.length, t.action])).toEqual([["two", 1, "command"], ["one", 2, "command"]]);
});

test("a step told again changes nothing, a name used again is a new request", () => {
  const list = [step(), step({ at: 3, step: "done", ok: true })].reduce<Trigger[]>(withStep, []);
  expect(withStep(list, step())).toBe(list);
  expect(withStep(list, step({ at: 9 }))).toHaveLength(2);
});

test("a name once known stays, also when the session has gone; a newer one counts", () => {
  expect(only(step({ target: "build" }), step({ at: 2, step: "done", ok: true })).target).toBe("build");
  expect(only(step(), step({ at: 2, step: "writing", target: "build" }), step({ at: 3, step: "done", target: "deploy" })).target).toBe("deploy");
});

test("the list is bounded", () => {
  let list: Trigger[] = [];
  for (let i = 0; i < MAX_TRIGGERS + 5; i++) list = withStep(list, step({ name: `t${i}`, at: i }));
  expect([list.length, list[0]?.name]).toEqual([MAX_TRIGGERS, `t${MAX_TRIGGERS + 4}`]);
});

const done = (fields: Partial<TriggerActivity>) => only(step(), step({ at: 2, step: "done", ok: false, ...fields }));

test.each([
  ["waiting", only(step())],
  ["delivered", done({ ok: true, submitted: "confirmed" })],
  ["opened", done({ ok: true, action: "open" })],
  ["closed", done({ ok: true, action: "stop" })],
  ["not found", done({ error: "session not found" })],
  ["refused", done({ error: "not sent" })],
  ["refused", done({ error: "invalid JSON: x" })],
  ["uncertain", done({ error: "step not confirmed" })],
  ["uncertain", done({ error: "pty write failed: EIO" })],
  ["failed", done({ error: "internal error: x" })],
])("outcome %s", (outcome, trigger) => expect(outcomeOf(trigger)).toBe(outcome));

test.each([
  [{ error: "not sent", reason: "12 byte(s) of input are sitting unsubmitted in the composer" }, /draft/],
  [{ error: "not sent", reason: "the CLI reports a dialog open (waiting); nothing was written into it" }, /asks something/],
  [{ error: "not sent", reason: "something nobody has explained" }, /Not one byte/],
  [{ error: "a new error" }, /exact words/],
  [{ ok: true, submitted: "assumed" }, /nothing was seen/],
])("explained in plain words: %o", (fields, words) => expect(explain(done(fields).last)).toMatch(words));

test("how far a prompt came", () => {
  expect(["no", "assumed", "activity", "confirmed", null, "else"].map((s) => submittedRank(s))).toEqual([0, 1, 2, 3, null, null]);
});

// --- versioned requests ---

const versioned = (fields: Partial<TriggerActivity>) => only(step({ action: "open" }), step({ at: 2, step: "done", ok: false, outcome: "refused", submitted: "no", ...fields }));

test.each([
  ["waiting", "waiting", /turn/], ["opening", "opening", /page/], ["writing", "typing", /goes out/], ["stopping", "stopping", /asked to end/],
] as const)("under way: %s", (at, outcome, words) => {
  const trigger = only(step({ action: "open" }), step({ at: 2, step: at, action: "open" }));
  expect([outcomeOf(trigger), explain(trigger.last)]).toEqual([outcome, expect.stringMatching(words)]);
});

test.each([
  ["opened", { ok: true, outcome: "opened" }, /nothing to type/],
  ["opened", { ok: true, outcome: "opened", submitted: "confirmed" }, /took this prompt/],
  ["closed", { ok: true, outcome: "closed" }, /has ended/],
  ["not found", { outcome: "not-found", reason: "session not open here" }, /nothing to stop/],
  ["refused", { reason: "session live elsewhere" }, /mix the conversation up/],
  ["uncertain", { reason: "session stop not confirmed", uncertain: true }, /may end later.*look before/],
  ["failed", { reason: "internal error", error: "internal error: x" }, /fault of its own/],
  ["uncertain", { reason: "internal error", uncertain: true }, /look before/],
  ["refused", { reason: "the CLI reports a dialog open (waiting); nothing was written into it" }, /asks something/],
  ["refused", { reason: "a new reason" }, /exact words/],
])("versioned: %s %o", (outcome, fields, words) => {
  const trigger = versioned(fields);
  expect([outcomeOf(trigger), explain(trigger.last)]).toEqual([outcome, expect.stringMatching(words)]);
});

test("a request without a text has no measure of how far that came", () => {
  expect(nothingToType(versioned({ ok: true, outcome: "opened" }).last)).toBe(true);
  expect(nothingToType(versioned({ ok: true, outcome: "opened", submitted: "assumed" }).last)).toBe(false);
  expect(nothingToType(versioned({}).last)).toBe(false);
  expect(nothingToType(done({ ok: true, submitted: "no" }).last)).toBe(false);
});

test("every reason of a versioned request is explained, each in words of its own", () => {
  const said = Object.entries(reasons).map(([name, reason]) => [name, explain(versioned({ reason }).last)]);
  expect(said.filter(([, text]) => text === "" || /exact words|not well formed/.test(text ?? ""))).toEqual([]);
  expect(new Set(said.map(([, text]) => text)).size).toBe(said.length);
});

test.each(["unsupported field: new.options", "prompt must be a non-empty string", "before too long (max 4 KB)"])("with its value: %s", (reason) => {
  expect(explain(versioned({ reason }).last)).not.toMatch(/exact words|not well formed/);
});

test("a name that every object has is no reason", () => expect(explain(versioned({ reason: "toString" }).last)).toMatch(/exact words/));
