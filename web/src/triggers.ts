/** Triggers as the activity list shows them (pure): the steps of one request become one entry. */

import type { TriggerActivity } from "./messages";
import { meaningOf } from "./v1reasons";

export type Outcome = "waiting" | "opening" | "typing" | "stopping" | "delivered" | "opened" | "closed" | "refused" | "not found" | "uncertain" | "failed";

export interface Step {
  step: TriggerActivity["step"];
  at: number;
}

export interface Trigger {
  name: string;
  action: string;
  sessionId: string | null;
  /** What its session was called when the host spoke of it last; the list may not have it any more. */
  target: string | null;
  steps: Step[];
  last: TriggerActivity;
}

/** Entries kept; the host remembers about as many. */
export const MAX_TRIGGERS = 200;

/** The list, newest first, after one more step. A step that is known already (said again on reconnect) changes nothing. */
export function withStep(triggers: Trigger[], activity: TriggerActivity): Trigger[] {
  const known = triggers.find((trigger) => trigger.name === activity.name);
  // A name may be used again after its result: then it is a new request.
  if (known === undefined || (activity.step === "received" && activity.at > known.last.at && known.last.step === "done")) {
    const fresh: Trigger = {
      name: activity.name,
      action: activity.action,
      sessionId: activity.session_id,
      target: activity.target,
      steps: [{ step: activity.step, at: activity.at }],
      last: activity,
    };
    return [fresh, ...triggers].slice(0, MAX_TRIGGERS);
  }
  if (known.steps.some((step) => step.step === activity.step && step.at === activity.at)) return triggers;
  if (activity.at < known.last.at) return triggers;
  const next: Trigger = {
    ...known,
    action: activity.action || known.action,
    sessionId: activity.session_id ?? known.sessionId,
    target: activity.target ?? known.target,
    steps: [...known.steps, { step: activity.step, at: activity.at }],
    last: activity,
  };
  return triggers.map((trigger) => (trigger === known ? next : trigger));
}

const NOT_FOUND = new Set(["session not found"]);
const UNCERTAIN = new Set(["step not confirmed", "chain timeout", "interrupted", "session exited during wait"]);

const UNDER_WAY: Partial<Record<TriggerActivity["step"], Outcome>> = { opening: "opening", writing: "typing", stopping: "stopping" };

export function outcomeOf(trigger: Trigger): Outcome {
  const last = trigger.last;
  if (last.step !== "done") return UNDER_WAY[last.step] ?? "waiting";
  if (last.outcome !== null) return versionedOutcome(last);
  if (last.ok) {
    if (trigger.action === "open" || trigger.action === "new") return "opened";
    return trigger.action === "stop" ? "closed" : "delivered";
  }
  const error = last.error ?? "";
  if (NOT_FOUND.has(error)) return "not found";
  if (UNCERTAIN.has(error) || error.startsWith("pty write failed")) return "uncertain";
  return error.startsWith("internal error") ? "failed" : "refused";
}

/** A versioned request says itself how it ended. */
function versionedOutcome(last: TriggerActivity): Outcome {
  if (last.ok) return last.outcome === "closed" ? "closed" : "opened";
  if (last.uncertain) return "uncertain";
  if (last.reason === "internal error") return "failed";
  return last.outcome === "not-found" ? "not found" : "refused";
}

/** How far a prompt is known to have come: 0 not submitted, 1 assumed, 2 activity seen, 3 confirmed. */
export const SUBMITTED = ["no", "assumed", "activity", "confirmed"] as const;

export function submittedRank(submitted: string | null): number | null {
  const rank = SUBMITTED.indexOf(submitted as (typeof SUBMITTED)[number]);
  return rank < 0 ? null : rank;
}

const MEANING: Record<string, string> = {
  no: "It was not submitted.",
  assumed: "Text and Enter were written; nothing was seen that proves the session took them.",
  activity: "Text and Enter were written and the session began to work; that it was on this prompt is not proven.",
  confirmed: "The session has shown that it took this prompt.",
};

export function submittedMeaning(submitted: string | null): string {
  return (submitted && MEANING[submitted]) ?? "";
}

const PLAIN: [RegExp, string][] = [
  [/^session not found/, "No open session has this id. Open or resume it first."],
  [/^target process not running/, "The session's program has ended. Resume it first."],
  [/^background session/, "It runs in the background and no terminal here shows it."],
  [/sitting unsubmitted in the composer/, "Somebody's draft is in the session. Nothing was typed over it: submit or clear it."],
  [/quiet window/, "Somebody was typing a moment ago, so nothing was typed."],
  [/a dialog open \(waiting\); nothing/, "The session asks something. No key was pressed: answer it, then send again."],
  [/dialog opened .* before its Enter/, "A dialog opened in between. The text stands in the composer; Enter was not pressed."],
  [/has not reported its state/, "The program may still show a trust, login or theme dialog. Look at it once."],
  [/still reported a turn running/, "It was still working when the time was over. Nothing was written."],
  [/idle only briefly|never reported idle|waiting for (it|the session) to go idle|timeout waiting for idle/, "It did not come to rest in time. Nothing was written."],
  [/does not match this session's actual cwd/, "The session runs in another directory than the request expected."],
  [/older than the .* staleness limit/, "The request was too old when it was read; it may have meant another situation."],
  [/deadline passed before/, "Its time was over before its turn came. Nothing was written."],
  [/Enter was withheld/, "The text stands in the composer; Enter was not pressed because that was not safe."],
  [/only a part of the text was written/, "Only a part of the text was typed. Look at the composer."],
  [/composer of this session cannot be observed/, "What stands in its input box is not known, so nothing was typed."],
  [/Switchboard is closing/, "The host was being stopped."],
  [/session exited/, "The session ended meanwhile."],
  [/^step not confirmed/, "It was typed, but nothing proved that it was submitted. Look before you send it again."],
  [/^chain timeout/, "The time was over before every step was done."],
  [/^interrupted/, "It was interrupted after something had been written. Look before you send it again."],
  [/^invalid JSON|^missing required|^command |^chain |^step\[|unsupported key|invalid timeout|mutually exclusive|^trigger (must|too large)/, "The request itself is not well formed."],
  [/^not sent/, "Not one byte was written."],
];

const NOW: Partial<Record<TriggerActivity["step"], string>> = {
  waiting: "It waits for its turn, or for the session to come to rest.",
  opening: "A page is having the session opened. Its text, if there is one, waits until the session is ready.",
  writing: "Its text goes out. Then it waits for a sign that the session took it.",
  stopping: "The session was asked to end. Whether it has will show.",
};
const DONE: Record<string, string> = { opened: "The session is open. There was nothing to type.", closed: "The session has ended." };
const LOOK_FIRST = "Something may have been done: look before you send it again.";

/** Whether a versioned request succeeded that had no text: how far that came is no question then. */
export function nothingToType(last: TriggerActivity): boolean {
  return last.ok === true && last.outcome !== null && last.submitted === "no";
}

/** What a result means, or what is happening, in plain words; empty when there is nothing to explain. */
export function explain(last: TriggerActivity): string {
  if (last.step !== "done") return NOW[last.step] ?? "";
  if (last.ok) return nothingToType(last) ? DONE[last.outcome ?? ""] ?? "" : submittedMeaning(last.submitted);
  if (last.outcome !== null) {
    const meaning = meaningOf(last.reason ?? "");
    if (meaning) return last.uncertain ? `${meaning} ${LOOK_FIRST}` : meaning;
  }
  for (const text of [last.reason, last.error]) {
    if (text === null) continue;
    const found = PLAIN.find(([pattern]) => pattern.test(text));
    if (found) return found[1];
  }
  return last.error || last.reason ? "It was not done; the exact words are below." : "";
}
