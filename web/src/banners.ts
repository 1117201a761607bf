/** What is said at the edge: toasts, the flash bar, the clipboard question, and the screens without a connection. */

import type { App } from "./app";
import { copy } from "./actions";
import { h, setText } from "./dom";
import { buttonIcon } from "./icons";

const TOAST_MS = 6_000;
const FLASH_MS = 2_500;

export interface Banners {
  element: HTMLElement;
  toast(text: string, level: "info" | "warning" | "error"): void;
  flash(text: string): void;
  copyWanted(name: string, text: string): void;
}

export function mountBanners(app: () => App): Banners {
  const toasts = h("div", { class: "toasts", role: "status" });
  const flashBar = h("div", { class: "flash", role: "alert", hidden: true });
  const question = h("div", { class: "copy-question", role: "region", "aria-label": "Clipboard question", hidden: true });
  let flashTimer: number | undefined;

  const toast = (text: string, level: "info" | "warning" | "error") => {
    const item = h("div", { class: `toast ${level}` }, h("span", {}, text),
      h("button", { type: "button", class: "ghost", "aria-label": "Dismiss", onclick: () => item.remove() }, buttonIcon("close")));
    toasts.append(item);
    while (toasts.children.length > 4) toasts.firstChild?.remove();
    // An error stays until it is read.
    if (level !== "error") setTimeout(() => item.remove(), TOAST_MS);
  };
  const flash = (text: string) => {
    setText(flashBar, text);
    flashBar.hidden = false;
    flashBar.classList.remove("again");
    void flashBar.offsetWidth; // restarts the animation
    flashBar.classList.add("again");
    clearTimeout(flashTimer);
    flashTimer = setTimeout(() => (flashBar.hidden = true), FLASH_MS);
  };
  const copyWanted = (name: string, text: string) => {
    const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
    const close = () => (question.hidden = true);
    question.replaceChildren(
      h("span", {}, `${name} wants to copy ${text.length} characters to your clipboard:`),
      h("code", {}, shown.replace(/[\p{Cc}\p{Cf}]/gu, " ")),
      h("button", { type: "button", class: "primary", onclick: () => { close(); void copy(app(), text, ""); app().focusTerminal(); } }, "Copy"),
      h("button", { type: "button", onclick: () => { close(); app().focusTerminal(); } }, "Refuse"),
    );
    question.hidden = false;
  };
  const element = h("div", { class: "banners" }, flashBar, question, toasts);
  return { element, toast, flash, copyWanted };
}

/** The whole page is this, calmly, while the browser has no credential or the host refuses it. */
export function mountClosed(app: App): HTMLElement {
  const title = h("h1", {});
  const text = h("p", {});
  const command = h("div", { class: "command" }, h("code", {}, "switchboard url"),
    h("button", { type: "button", class: "ghost", "aria-label": "Copy the command", onclick: () => void copy(app, "switchboard url", "the command") }, buttonIcon("copy")));
  const after = h("p", { class: "quiet" }, "Open the address it prints, here or in another tab. It works once, for two minutes. Your sessions go on meanwhile.");
  const again = h("button", { type: "button", class: "primary", onclick: () => location.reload() }, "Try again");
  const element = h("main", { class: "closed" }, h("div", { class: "message" }, title, text, command, after, again));
  app.store.subscribe((state) => {
    const signedOut = state.link === "signed-out";
    element.hidden = !signedOut && state.link !== "refused";
    setText(title, signedOut ? "This browser is not signed in" : "The host does not accept this page");
    setText(text, signedOut ? "Every address of Switchboard works once. Get a fresh one in a terminal:" : state.linkText);
    command.hidden = after.hidden = !signedOut;
    again.hidden = signedOut;
  });
  return element;
}
