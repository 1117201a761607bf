/** The page's own keys. Everything else typed in a terminal belongs to the terminal. */

import { copySelection, inOrder, select, toggleActivity, toggleGrid } from "./actions";
import type { App } from "./app";
import { keyOf } from "./catalog";
import { modalOpen } from "./dialogs";
import { inTerminal, inTextField } from "./dom";
import { showHelp } from "./help";
import { MAC } from "./keynames";
import { newSession } from "./newsession";
import { showPalette } from "./palette";

export interface Pressed {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

export type Command =
  | "palette" | "grid" | "new" | "activity" | "find" | "copy" | "next-region" | "previous-region" | `session-${number}`;

/** The page's command for a key, wherever the keyboard is; null: not ours (pure). */
export function commandFor(event: Pressed, mac: boolean): Command | null {
  const mod = mac ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey;
  if (event.code === "F6" && !event.ctrlKey && !event.metaKey && !event.altKey) return event.shiftKey ? "previous-region" : "next-region";
  if (event.altKey && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    const digit = /^Digit([1-9])$/.exec(event.code);
    return digit ? `session-${Number(digit[1])}` : null;
  }
  if (!mod || event.altKey) return null;
  if (!event.shiftKey) return event.code === "KeyK" || event.key.toLowerCase() === "k" ? "palette" : null;
  switch (event.key.toLowerCase()) {
    case "g": return "grid";
    case "n": return "new";
    case "a": return "activity";
    case "f": return "find";
    case "c": return mac ? null : "copy";
    default: return null;
  }
}

const REGIONS = [".sidebar", ".head", ".main-room", ".activity", ".status-bar"];

export function mountKeys(app: App, selection: () => string): void {
  addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing || modalOpen()) return;
      const command = commandFor(event, MAC);
      if (command === null || (command === "copy" && (!inTerminal(event.target) || !selection()))) return;
      event.preventDefault();
      event.stopImmediatePropagation();
      run(app, command, selection);
    },
    { capture: true },
  );
  // These two after everybody else: a field that Escape ends has ended by then, and keeps nothing.
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.defaultPrevented || modalOpen() || inTerminal(event.target)) return;
    if (event.key === "Escape") app.focusTerminal();
    else if (event.key === "?" && !inTextField(event.target)) {
      event.preventDefault();
      showHelp(app);
    }
  });
}

function run(app: App, command: Command, selection: () => string): void {
  switch (command) {
    case "palette": return showPalette(app);
    case "grid": return toggleGrid(app);
    case "new": return void newSession(app);
    case "activity": return toggleActivity(app);
    case "find": return app.startSearch();
    case "copy": return void copySelection(app, selection());
    case "next-region": return region(app, 1);
    case "previous-region": return region(app, -1);
    default: {
      const session = inOrder(app)[Number(command.slice(8)) - 1];
      if (session) select(app, keyOf(session));
    }
  }
}

function region(app: App, step: number): void {
  // Out of a card's terminal first to the card, from where the arrows lead to others.
  const card = inTerminal(document.activeElement) ? document.activeElement?.closest(".card") : null;
  if (card && step < 0) return card.querySelector<HTMLElement>(".card-title")?.focus();
  const there = REGIONS.map((name) => document.querySelector<HTMLElement>(name)).filter((e): e is HTMLElement => e !== null && e.offsetParent !== null);
  const place = there.findIndex((element) => element.contains(document.activeElement));
  const next = there[(place + step + there.length) % there.length];
  if (!next) return;
  const seen = (names: string) => [...next.querySelectorAll<HTMLElement>(names)].find((element) => element.offsetParent !== null);
  if (next.matches(".main-room")) {
    const title = seen(".card.active .card-title") ?? seen(".card-title");
    return title ? title.focus() : app.focusTerminal();
  }
  (seen('[role="treeitem"][tabindex="0"]') ?? seen("summary") ?? seen("button:not(:disabled)") ?? next).focus();
}
