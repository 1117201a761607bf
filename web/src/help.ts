/** The help sheet: every key of the page, and the commands beside it. */

import type { App } from "./app";
import { modal } from "./dialogs";
import { h } from "./dom";
import { MOD } from "./keynames";

const KEYS: [string, string][] = [
  [`${MOD}+K`, "Command palette"],
  [`${MOD}+Shift+G`, "Grid of all running sessions"],
  [`${MOD}+Shift+N`, "New session (some browsers keep this key; then + or the palette)"],
  [`${MOD}+Shift+A`, "Activity"],
  [`${MOD}+Shift+F`, "Find in the terminal"],
  ["Alt+1 … 9", "Session with that number in the list"],
  ["F6, Shift+F6", "Next, previous region: sessions, header, terminal, activity, status"],
  ["Escape", "Outside the terminal: give the keyboard back to it"],
  ["?", "This sheet, outside the terminal"],
];
const LIST: [string, string][] = [
  ["↑ ↓ ← →", "Move, fold and unfold"],
  ["Enter", "Show a session; a closed one is resumed"],
  ["F2", "Rename"],
  ["Delete", "Stop, after a question"],
];
const GRID: [string, string][] = [
  ["F6", "To the card in use; Shift+F6 out of its terminal"],
  ["↑ ↓ ← →", "Move between cards"],
  ["Enter", "Type in the card"],
  ["Shift+Enter", "Open it alone"],
  ["Delete", "Stop, after a question"],
];
const TERMINAL: [string, string][] = [
  ["Ctrl+Shift+C", "Copy the selection"],
  ["Ctrl+Shift+V", "Paste"],
  ["Shift+drag", "Select although the program uses the mouse"],
];

export function showHelp(_app: App): void {
  modal(
    "Keys",
    "wide help",
    h("div", { class: "help-columns" }, table("Everywhere", KEYS), h("div", {}, table("In the list", LIST), table("In the grid", GRID), table("In the terminal", TERMINAL))),
    h("p", { class: "quiet" }, "Everything else that is typed in a terminal goes to its program. Closing this page stops nothing; “switchboard url” prints a fresh address for another browser."),
  );
}

function table(title: string, rows: [string, string][]): HTMLElement {
  return h("section", {}, h("h3", {}, title), h("dl", {}, ...rows.flatMap(([keys, what]) => [h("dt", {}, h("kbd", {}, keys)), h("dd", {}, what)])));
}
