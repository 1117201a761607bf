/** The command palette: every session and every action by a part of its name. */

import { activate, copy, nextWaiting, stop, toggleActivity, toggleGrid } from "./actions";
import type { App } from "./app";
import { NO_FILTER, projects } from "./catalog";
import { modal } from "./dialogs";
import { h } from "./dom";
import { sendCommand } from "./header";
import { showHelp } from "./help";
import { statusIcon } from "./icons";
import { newSession } from "./newsession";
import { score } from "./fuzzy";
import { selectedSession } from "./state";
import { labelOf, lastSegments, plain, statusWord } from "./text";

interface Entry {
  label: string;
  about: string;
  status?: string;
  run: () => void;
}

const MOST = 50;

function entries(app: App): Entry[] {
  const state = app.store.state;
  const sessions: Entry[] = projects(state.sessions, NO_FILTER, 0).flatMap((p) => p.sessions).map((session) => ({
    label: labelOf(session),
    about: `${statusWord(session)} · ${session.cwd ? plain(lastSegments(session.cwd)) : session.id.slice(0, 8)}`,
    status: session.status,
    run: () => activate(app, session),
  }));
  const session = selectedSession(state);
  const actions: Entry[] = [
    { label: "New session", about: "Ctrl+Shift+N", run: () => void newSession(app) },
    { label: "Next session that waits for you", about: "", run: () => nextWaiting(app) },
    { label: app.prefs.view === "grid" ? "Leave the grid" : "Grid", about: "Ctrl+Shift+G", run: () => toggleGrid(app) },
    { label: app.prefs.activity ? "Close activity" : "Activity", about: "Ctrl+Shift+A", run: () => toggleActivity(app) },
    { label: "Colours: dark", about: "", run: () => app.prefer({ theme: "dark" }) },
    { label: "Colours: light", about: "", run: () => app.prefer({ theme: "light" }) },
    { label: "Colours: as the system", about: "", run: () => app.prefer({ theme: "system" }) },
    { label: "Larger text", about: "", run: () => app.prefer({ fontSize: Math.min(28, app.prefs.fontSize + 1) }) },
    { label: "Smaller text", about: "", run: () => app.prefer({ fontSize: Math.max(8, app.prefs.fontSize - 1) }) },
    { label: app.prefs.screenReader ? "Screen reader support off" : "Screen reader support on", about: "", run: () => app.prefer({ screenReader: !app.prefs.screenReader }) },
    { label: "Keys and help", about: "?", run: () => showHelp(app) },
  ];
  if (session) {
    const name = labelOf(session);
    actions.unshift({ label: "Copy a command that sends a prompt", about: name, run: () => void copy(app, sendCommand(session), "the command") });
    if (session.handle !== null) {
      actions.unshift(
        { label: "Rename", about: name, run: () => app.startRename() },
        { label: "Find in terminal", about: "Ctrl+Shift+F", run: () => app.startSearch() },
        { label: session.state === "exited" ? "Remove" : "Stop", about: name, run: () => void stop(app, session) },
      );
    }
  }
  return [...sessions.filter((_, i) => i < 500), ...actions];
}

export function showPalette(app: App): void {
  const all = entries(app);
  let shown: Entry[] = [];
  let place = 0;
  const list = h("div", { class: "palette-list", role: "listbox", id: "palette-list", "aria-label": "Matches" });
  const field = h("input", {
    type: "text",
    class: "palette-field",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    "aria-autocomplete": "list",
    "aria-label": "Session or action",
    placeholder: "Session or action",
    autocomplete: "off",
    spellcheck: "false",
  });
  const { dialog } = modal("Command palette", "palette", field, list);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    // Closing gives the keyboard back, so that the action may take it.
    dialog.close();
    entry.run();
  };
  const mark = () => {
    [...list.children].forEach((child, i) => child.setAttribute("aria-selected", String(i === place)));
    const option = list.children[place];
    if (option) field.setAttribute("aria-activedescendant", option.id);
    else field.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };
  const draw = () => {
    shown = all
      .map((entry, i) => ({ entry, i, rank: score(field.value, `${entry.label} ${entry.about}`) }))
      .filter(({ rank }) => rank !== null)
      .sort((a, b) => (b.rank ?? 0) - (a.rank ?? 0) || a.i - b.i)
      .slice(0, MOST)
      .map(({ entry }) => entry);
    place = 0;
    list.replaceChildren(
      ...shown.map((entry, i) =>
        h("div", { class: "option", role: "option", id: `palette-${i}`, onclick: () => choose(entry) },
          h("span", { class: "option-icon" }, entry.status ? statusIcon(entry.status) : null),
          h("span", { class: "option-label" }, entry.label),
          h("span", { class: "option-about" }, entry.about)),
      ),
    );
    if (shown.length === 0) list.append(h("div", { class: "quiet none" }, "Nothing matches."));
    mark();
  };
  field.addEventListener("input", draw);
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "ArrowDown") place = Math.min(place + 1, shown.length - 1);
    else if (event.key === "ArrowUp") place = Math.max(place - 1, 0);
    else if (event.key === "Enter") return choose(shown[place]), event.preventDefault();
    else return;
    event.preventDefault();
    mark();
  });
  draw();
  field.focus();
}

