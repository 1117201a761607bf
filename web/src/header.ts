/** The line above the terminal: what is shown, and what can be done with it. */

import { copy, rename, stop, toggleActivity, toggleGrid } from "./actions";
import type { App } from "./app";
import { goesOn } from "./catalog";
import { h, setAttribute, setText } from "./dom";
import { buttonIcon, statusIcon } from "./icons";
import { type Item, openMenu } from "./menu";
import { LIMITS } from "./messages";
import { newSession } from "./newsession";
import { showHelp } from "./help";
import { showPalette } from "./palette";
import { selectedSession } from "./state";
import { exitText, labelOf, originMark, plain, program, sandboxMark, statusWord } from "./text";

export interface Header {
  element: HTMLElement;
  startRename(): void;
}

export function mountHeader(app: App): Header {
  const drawer = h("button", { type: "button", class: "ghost only-narrow", "aria-label": "Sessions", "aria-controls": "sessions", onclick: () => app.drawer(true) }, buttonIcon("menu"));
  const icon = h("span", { class: "head-icon" });
  const name = h("button", { type: "button", class: "head-name", title: "Rename (F2)", onclick: () => startRename() });
  const field = h("input", { class: "head-field", "aria-label": "Session name", maxlength: LIMITS["rename"]?.["name"], hidden: true, autocomplete: "off" });
  const state = h("span", {});
  const why = h("span", { class: "head-why" });
  const word = h("span", { class: "head-word" }, state, why);
  const about = h("span", { class: "head-about" });
  const stopper = h("button", { type: "button", class: "quiet-danger", onclick: () => { const s = current(); if (s) void stop(app, s); } });
  const grid = h("button", { type: "button", class: "ghost", "aria-label": "Grid", title: "Grid of all running sessions", onclick: () => toggleGrid(app) }, buttonIcon("grid"));
  const badge = h("span", { class: "badge", hidden: true });
  const activity = h("button", { type: "button", class: "ghost", "aria-label": "Activity", title: "Trigger activity", "aria-controls": "activity", onclick: () => toggleActivity(app) }, buttonIcon("activity"), badge);
  const more = h("button", { type: "button", class: "ghost", "aria-label": "More", "aria-haspopup": "menu", "aria-expanded": "false", onclick: () => openMenu(more, "More", menu()) }, buttonIcon("more"));
  const element = h(
    "header",
    { class: "head" },
    drawer,
    h("div", { class: "head-title" }, icon, name, field, word, about),
    h("div", { class: "head-buttons" }, stopper, grid, activity, more),
  );
  let drawn = "";

  const current = () => selectedSession(app.store.state);

  const menu = (): Item[] => {
    const session = current();
    const items: Item[] = [];
    if (session) {
      if (session.handle !== null) {
        items.push({ label: "Rename", keys: "F2", run: startRename });
        items.push({ label: "Find in terminal", keys: "Ctrl+Shift+F", run: () => app.startSearch() });
      }
      items.push({ label: "Copy a command that sends a prompt", run: () => void copy(app, sendCommand(session), "the command") });
      items.push({ label: "Copy the session id", run: () => void copy(app, session.id, "the id") });
      if (session.cwd) items.push({ label: "New session in this directory", run: () => void newSession(app, { cwd: session.cwd ?? "" }) });
    }
    items.push(
      { label: "Command palette", keys: "Ctrl+K", run: () => showPalette(app) },
      { label: "Larger text", run: () => app.prefer({ fontSize: Math.min(28, app.prefs.fontSize + 1) }) },
      { label: "Smaller text", run: () => app.prefer({ fontSize: Math.max(8, app.prefs.fontSize - 1) }) },
      { label: "Colours: system", checked: app.prefs.theme === "system", run: () => app.prefer({ theme: "system" }) },
      { label: "Colours: dark", checked: app.prefs.theme === "dark", run: () => app.prefer({ theme: "dark" }) },
      { label: "Colours: light", checked: app.prefs.theme === "light", run: () => app.prefer({ theme: "light" }) },
      { label: "Screen reader support", checked: app.prefs.screenReader, run: () => app.prefer({ screenReader: !app.prefs.screenReader }) },
      { label: "Keys and help", keys: "?", run: () => showHelp(app) },
    );
    return items;
  };

  function startRename(): void {
    const session = current();
    if (!session || session.handle === null) return;
    field.value = session.name ?? "";
    field.placeholder = labelOf({ ...session, name: null });
    name.hidden = true;
    field.hidden = false;
    field.focus();
    field.select();
    let ended = false;
    const end = (keep: boolean) => {
      if (ended) return;
      ended = true;
      field.hidden = true;
      name.hidden = false;
      field.onkeydown = field.onblur = null;
      const named = goesOn(session, app.store.state.sessions);
      if (keep && named && field.value.trim() !== (named.name ?? "")) void rename(app, named, field.value.trim());
    };
    field.onkeydown = (event) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      event.stopPropagation();
      end(event.key === "Enter");
      app.focusTerminal();
    };
    field.onblur = () => end(true);
  }

  app.store.subscribe((now) => {
    const inGrid = app.prefs.view === "grid";
    const session = inGrid ? null : selectedSession(now);
    setAttribute(grid, "aria-pressed", String(inGrid));
    setAttribute(activity, "aria-pressed", String(app.prefs.activity));
    badge.hidden = now.unseen === 0;
    setText(badge, now.unseen > 99 ? "99+" : `${now.unseen}`);
    setAttribute(activity, "aria-label", now.unseen ? `Activity, ${now.unseen} new` : "Activity");
    const status = session?.status ?? "";
    if (status !== drawn) icon.replaceChildren(...(session ? [statusIcon(status)] : []));
    drawn = status;
    element.dataset["status"] = status;
    name.disabled = session?.handle == null;
    setText(name, session ? labelOf(session) : inGrid ? "All running sessions" : "No session selected");
    setText(state, session ? (session.state === "exited" ? exitText(session) : statusWord(session)) : "");
    setText(why, session?.status === "waiting" && session.waiting_for ? `: ${plain(session.waiting_for)}` : "");
    word.hidden = session === null;
    setText(about, session ? [program(session), session.cwd ? plain(session.cwd) : "", sandboxMark(session), originMark(session)].filter(Boolean).join(" · ") : "");
    setAttribute(about, "title", [session?.cwd ? plain(session.cwd) : "", session?.sandbox ? "runs in a sandbox" : ""].filter(Boolean).join("\n") || null);
    stopper.hidden = session?.handle == null;
    setText(stopper, session?.state === "exited" ? "Remove" : "Stop");
  });
  return { element, startRename };
}

/** The command that sends this session a prompt from a shell. */
export function sendCommand(session: { id: string }): string {
  return `switchboard send ${session.id} "Say hello"`;
}
