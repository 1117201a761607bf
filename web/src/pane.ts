/** The main room with one session: its terminal, or what stands in its place. */

import { copy, remove, resume, sentence } from "./actions";
import type { App } from "./app";
import { sameConversation } from "./catalog";
import { h, setChildren } from "./dom";
import { sendCommand } from "./header";
import { buttonIcon } from "./icons";
import type { SessionInfo } from "./messages";
import { newSession } from "./newsession";
import { isStarting } from "./placeholders";
import { mountSearch } from "./search";
import { selectedSession, type State } from "./state";
import type { TerminalView } from "./terminal";
import { cliTitle, exitText, labelOf } from "./text";

export interface Pane {
  element: HTMLElement;
  startSearch(): void;
  view(): TerminalView | undefined;
}

export function mountPane(app: App): Pane {
  let shown: TerminalView | undefined;
  let before: SessionInfo | null = null;
  const room = h("div", { class: "room" });
  const bar = h("div", { class: "ended", hidden: true });
  const card = h("div", { class: "place" });
  const search = mountSearch(app, () => shown);
  const element = h("div", { class: "pane" }, search.element, bar, room, card);
  let drawn = "";

  app.store.subscribe((state) => {
    const single = app.prefs.view === "single";
    element.hidden = !single;
    let moved: TerminalView | undefined;
    const session = single ? selectedSession(state) : null;
    const next = session?.handle != null ? app.deck.open(session as SessionInfo & { handle: number }) : undefined;
    if (single && next !== shown) {
      // Nobody has gone anywhere: the conversation that is looked at runs again, in another terminal.
      const same = next !== undefined && before != null && session != null && sameConversation(before, session);
      const keyboard = shown?.element.contains(document.activeElement) ?? false;
      setChildren(room, next ? [next.element] : []);
      shown = next;
      app.deck.onScreen(next ? [next.handle] : []);
      search.moved(same);
      if (!same) next?.use();
      else {
        if (keyboard) next?.focusQuietly();
        moved = next;
      }
    } else if (next && next.element.parentNode !== room) {
      setChildren(room, [next.element]); // back from the grid
      next.use();
    }
    if (!single) shown = undefined;
    before = session;
    room.hidden = next === undefined;
    const ended = session?.state === "exited" && session.handle !== null;
    bar.hidden = !ended;
    if (ended && session) endedBar(app, bar, session);
    card.hidden = next !== undefined || !single;
    // Last, when the room has its size. Nobody has used this page by that: the size is its own only if it is free.
    moved?.free();
    // A button that goes must not leave the keyboard nowhere, nor give it to a program that nobody has turned to.
    if ([bar, card].some((part) => part.hidden && part.contains(document.activeElement))) element.closest("main")?.focus();
    const key = [session?.id, session?.state, session && isStarting(session), state.opening, state.problem?.reason, state.problem?.id, state.listed, state.link, state.sessions.length > 0].join("|");
    if (!card.hidden && key !== drawn) {
      drawn = key;
      card.replaceChildren(placeholder(app, state, session));
    }
  });
  return { element, startSearch: search.open, view: () => shown };
}

function endedBar(app: App, bar: HTMLElement, session: SessionInfo): void {
  const text = `${labelOf(session)} ${exitText(session)}.`;
  if (bar.dataset["for"] === `${session.handle}${text}`) return;
  bar.dataset["for"] = `${session.handle}${text}`;
  bar.replaceChildren(
    h("span", {}, text),
    session.kind === "agent"
      ? h("button", { type: "button", class: "primary", onclick: () => void resume(app, session) }, "Resume")
      : "",
    h("button", { type: "button", onclick: () => void remove(app, session) }, "Remove"),
  );
}

function placeholder(app: App, state: State, session: SessionInfo | null): HTMLElement {
  if (session && state.opening === session.id) return message(`Resuming ${labelOf(session)} …`, cliTitle(session.cli));
  if (session && isStarting(session)) return message(`Opening ${labelOf(session)} for a trigger …`, cliTitle(session.cli));
  if (session && state.problem?.id === session.id) return refused(app, state, session);
  if (session) {
    return message(labelOf(session), "This conversation is closed. It can be resumed in its directory.",
      h("button", { type: "button", class: "primary", onclick: () => void resume(app, session) }, "Resume"));
  }
  if (!state.listed) return message("", "");
  if (state.sessions.length === 0) return firstMinute(app, null);
  return state.sessions.some((s) => s.handle !== null)
    ? message("Nothing is selected", "Choose a session on the left, or press Ctrl+K and type a part of its name.")
    : firstMinute(app, null);
}

function refused(app: App, state: State, session: SessionInfo): HTMLElement {
  const problem = state.problem;
  const missing = problem?.detail.includes("was not found");
  return message(
    `${labelOf(session)} was not opened`,
    `${sentence(problem?.detail ?? "")} Nothing was changed.`,
    h("p", { class: "exact" }, problem?.reason ?? ""),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "primary", onclick: () => void resume(app, session) }, "Try again"),
      missing ? h("button", { type: "button", onclick: () => void newSession(app, { profile: "agent", cwd: session.cwd ?? "" }) }, "Use the built-in agent") : null),
  );
}

function message(title: string, text: string, ...more: (Node | null)[]): HTMLElement {
  return h("div", { class: "message" }, h("h2", {}, title), h("p", {}, text), ...more);
}

/** With nothing there: one sentence, the `+`, and a command that sends a first prompt from a shell. */
function firstMinute(app: App, session: SessionInfo | null): HTMLElement {
  const command = sendCommand(session ?? { id: "ID" });
  return h(
    "div",
    { class: "message first" },
    h("h2", {}, "Agents run here, and scripts can reach them"),
    h("p", {}, "Open a first session: an agent CLI or a plain shell, in a directory of yours."),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "primary", onclick: () => void newSession(app) }, buttonIcon("plus"), "New session"),
      h("button", { type: "button", onclick: () => void newSession(app, { profile: "agent" }) }, "Try the built-in agent")),
    h("p", { class: "then" }, "Then send it a prompt from any shell. “switchboard ls” shows its id."),
    h("div", { class: "command" }, h("code", {}, command),
      h("button", { type: "button", class: "ghost", "aria-label": "Copy the command", title: "Copy", onclick: () => void copy(app, command, "the command") }, buttonIcon("copy"))),
  );
}
