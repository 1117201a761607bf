/** Keys that an on-screen keyboard does not have, above it. */

import { h } from "./dom";
import type { TerminalView } from "./terminal";

export interface KeyBar {
  element: HTMLElement;
  /** What is typed after the Ctrl key of the bar. */
  modify(text: string): string;
}

export function mountKeyBar(view: () => TerminalView | undefined): KeyBar {
  let ctrl = false;
  const ctrlKey = h("button", { type: "button", "aria-pressed": "false", onclick: () => setCtrl(!ctrl) }, "Ctrl");
  const setCtrl = (on: boolean) => {
    ctrl = on;
    ctrlKey.setAttribute("aria-pressed", String(on));
  };
  const arrow = (letter: string) => (view()?.term.modes.applicationCursorKeysMode ? `\x1bO${letter}` : `\x1b[${letter}`);
  const key = (label: string, name: string, sequence: () => string) =>
    h("button", { type: "button", "aria-label": name, onclick: () => view()?.press(sequence()) }, label);
  const element = h(
    "div",
    { class: "keybar", role: "toolbar", "aria-label": "Terminal keys" },
    key("Esc", "Esc", () => "\x1b"),
    key("Tab", "Tab", () => "\t"),
    ctrlKey,
    key("^C", "^C, interrupt", () => "\x03"),
    key("←", "Left", () => arrow("D")),
    key("↑", "Up", () => arrow("A")),
    key("↓", "Down", () => arrow("B")),
    key("→", "Right", () => arrow("C")),
    key("⏎", "Enter", () => "\r"),
  );
  // The terminal keeps the keyboard, so the on-screen one stays open.
  element.addEventListener("pointerdown", (event) => event.preventDefault());
  const modify = (text: string) => {
    if (!ctrl || text.length !== 1) return text;
    setCtrl(false);
    return controlled(text);
  };
  return { element, modify };
}

/** The control character of a key, as a keyboard would send it (pure). */
export function controlled(text: string): string {
  const code = text.toUpperCase().charCodeAt(0);
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
  return text === " " ? "\0" : text === "?" ? "\x7f" : text;
}
