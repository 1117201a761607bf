/** The drawer with triggers: what arrived, what became of it, and why. */

import { activate, toggleActivity } from "./actions";
import type { App } from "./app";
import { h, setChildren, setText, type Child } from "./dom";
import { buttonIcon } from "./icons";
import type { SessionInfo } from "./messages";
import { labelOf, age, duration, nameOf, plain } from "./text";
import { escaped } from "./truth";
import { explain, nothingToType, outcomeOf, SUBMITTED, submittedRank, type Trigger } from "./triggers";

const STEP_WORDS: Record<string, string> = { received: "received", waiting: "waiting", opening: "opening", writing: "typing", stopping: "stopping", done: "result" };
const ACTION_WORDS: Record<string, string> = { command: "prompt", chain: "chain of prompts", key: "key", open: "open", new: "new session", stop: "stop" };

export function mountActivity(app: App): HTMLElement {
  const items = new Map<string, { trigger: Trigger; target: string; element: HTMLLIElement }>();
  const list = h("ul", { class: "triggers", role: "list" });
  const none = h("div", { class: "quiet none" },
    h("p", {}, "No trigger has arrived yet."),
    h("p", {}, "“switchboard send ID TEXT” writes one; so can any script, by putting a JSON file into the triggers folder."));
  const element = h(
    "aside",
    { class: "activity", id: "activity", "aria-label": "Activity", tabindex: -1 },
    h("div", { class: "activity-head" }, h("h2", {}, "Activity"),
      h("button", { type: "button", class: "ghost", "aria-label": "Close activity", onclick: () => toggleActivity(app) }, buttonIcon("close"))),
    h("div", { class: "scroll" }, list, none),
  );
  app.store.subscribe((state) => {
    element.hidden = !app.prefs.activity;
    if (element.hidden) return;
    if (state.unseen > 0 && document.visibilityState === "visible") app.store.dispatch({ type: "seen" });
    none.hidden = state.triggers.length > 0;
    const wanted = state.triggers.map((trigger) => {
      const session = state.sessions.find((s) => s.id.toLowerCase() === trigger.sessionId?.toLowerCase());
      const target = nameOf(session?.name) || nameOf(session?.title) || nameOf(trigger.target) || (session ? labelOf(session) : plain(trigger.sessionId?.slice(0, 8) ?? "") || "no session");
      const id = `${trigger.name} ${trigger.steps[0]?.at}`;
      let item = items.get(id);
      if (!item || item.trigger !== trigger || item.target !== target) {
        const made = triggerRow(app, trigger, target, session);
        (made.firstChild as HTMLDetailsElement).open = (item?.element.firstChild as HTMLDetailsElement | undefined)?.open ?? false;
        items.set(id, (item = { trigger, target, element: made }));
      }
      setText(item.element.querySelector(".trigger-age") as Element, age(trigger.last.at, Date.now()));
      return item.element;
    });
    setChildren(list, wanted);
  });
  return element;
}

function triggerRow(app: App, trigger: Trigger, target: string, session: SessionInfo | undefined): HTMLLIElement {
  const outcome = outcomeOf(trigger);
  const { last } = trigger;
  const why = explain(last);
  const exact = (last.outcome === null ? [last.error, last.reason] : [last.reason, last.error, last.detail]).filter((text): text is string => text !== null && text !== "");
  const rank = nothingToType(last) ? null : submittedRank(last.submitted);
  return h("li", {}, h(
    "details",
    { class: "trigger" },
    h(
      "summary",
      {},
      h("span", { class: "trigger-top" },
        h("span", { class: "trigger-action" }, ACTION_WORDS[trigger.action] ?? (plain(trigger.action) || "request")),
        h("span", { class: "trigger-target" }, target),
        h("span", { class: "trigger-age" })),
      h("span", { class: "trigger-middle" },
        h("span", { class: "pill", "data-outcome": outcome.replace(" ", "-") }, outcome),
        rank === null ? null : meter(rank)),
      why ? h("span", { class: "trigger-why" }, why) : null,
      ...exact.map((text) => h("span", { class: "exact" }, plain(text))),
    ),
    h("div", { class: "trigger-more" },
      session ? h("button", { type: "button", class: "link", onclick: () => activate(app, session) }, `Show ${target}`) : null,
      timeline(trigger),
      h("pre", { tabindex: 0, "aria-label": "All that is known" }, escaped(JSON.stringify(facts(trigger), null, 2)))),
  ));
}

/** How far the prompt is known to have come, as four steps with the word beside them. */
function meter(rank: number): Node {
  const steps = SUBMITTED.map((_, step) => h("span", { class: rank > 0 && step <= rank ? "step full" : "step" }));
  return h("span", { class: "meter", "data-rank": rank }, h("span", { class: "steps", "aria-hidden": "true" }, ...steps), `submitted: ${SUBMITTED[rank]}`);
}

function timeline(trigger: Trigger): Node {
  const first = trigger.steps[0]?.at ?? 0;
  const rows: Child[] = trigger.steps.map((step, place) => {
    const before = trigger.steps[place - 1];
    const clock = new Date(step.at).toLocaleTimeString(undefined, { hour12: false });
    return h("li", {},
      h("span", { class: "when" }, clock),
      h("span", {}, STEP_WORDS[step.step] ?? step.step),
      h("span", { class: "took" }, before ? `+${duration(step.at - before.at)}` : ""));
  });
  const last = trigger.steps.at(-1);
  if (last && trigger.steps.length > 2) rows.push(h("li", {}, h("span", { class: "when" }), h("span", {}, "in all"), h("span", { class: "took" }, duration(last.at - first))));
  return h("ol", { class: "timeline", "aria-label": "Timeline" }, ...rows);
}

function facts(trigger: Trigger): object {
  const { type: _type, step: _step, ...known } = trigger.last;
  return { ...known, steps: trigger.steps };
}
