import { expect, test } from "vitest";
import type { TriggerActivity } from "../src/messages";
import { explain, MAX_TRIGGERS, outcomeOf, submittedRank, type Trigger, withStep } from "../src/triggers";

const step = (fields: Partial<TriggerActivity> = {}): TriggerActivity => ({
  type: "trigger", name: "one", at: 1, step: "received", action: "command", session_id: "a", ok: null, submitted: null, error: null, reason: null, ...fields,
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
