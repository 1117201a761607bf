/** What is said at the edge: toasts, the flash bar, the clipboard question, and the screens without a connection. */

import type { App } from "./app";
import { copy } from "./actions";
import { mountCopyQuestion } from "./copyquestion";
import { h, setText } from "./dom";
import { buttonIcon } from "./icons";
import { ticketFrom } from "./ticket";

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
  const question = mountCopyQuestion(app);
  let flashTimer: number | undefined;

  const toast = (text: string, level: "info" | "warning" | "error") => {
    // Said again it is not two things.
    for (const shown of [...toasts.children]) if (shown.textContent === text && shown.classList.contains(level)) shown.remove();
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
  const element = h("div", { class: "banners" }, flashBar, question.element, toasts);
  return { element, toast, flash, copyWanted: question.ask };
}

/** The whole page is this, calmly, while the browser has no credential or the host refuses it. */
export function mountClosed(app: App): HTMLElement {
  const title = h("h1", {});
  const text = h("p", {});
  const command = h("div", { class: "command" }, h("code", {}, "switchboard url"),
    h("button", { type: "button", class: "ghost", "aria-label": "Copy the command", onclick: () => void copy(app, "switchboard url", "the command") }, buttonIcon("copy")));
  const after = h("p", { class: "quiet" }, "Open the address it prints, here or in another tab. It works once, for two minutes. Your sessions go on meanwhile.");
  const field = h("input", { id: "sign-in", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "sign-in-problem" });
  const problem = h("p", { class: "sign-in-problem", id: "sign-in-problem", role: "alert", hidden: true });
  const submit = h("button", { type: "submit", class: "primary" }, "Sign in");
  const form = h("form", { class: "sign-in" }, h("label", { for: "sign-in" }, "Address or credential"), h("div", { class: "sign-in-row" }, field, submit), problem);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void signIn();
  });
  const again = h("button", { type: "button", class: "primary", onclick: () => location.reload() }, "Try again");
  const element = h("main", { class: "closed" }, h("div", { class: "message" }, title, text, command, after, form, again));
  app.store.subscribe((state) => {
    const signedOut = state.link === "signed-out";
    element.hidden = !signedOut && state.link !== "refused";
    setText(title, signedOut ? "This browser is not signed in" : "The host does not accept this page");
    setText(text, state.linkText || "Every address of Switchboard works once. Get a fresh one in a terminal:");
    command.hidden = after.hidden = form.hidden = !signedOut;
    again.hidden = signedOut;
  });

  async function signIn(): Promise<void> {
    const ticket = ticketFrom(field.value);
    problem.hidden = true;
    submit.disabled = true;
    const outcome = ticket === null ? "refused" : await app.socket.signIn(ticket);
    submit.disabled = false;
    field.value = "";
    if (outcome === "accepted") return;
    setText(problem, outcome === "lost" ? "The host cannot be reached. Try again." : "The host does not take that: it was used, is too old, or is not whole.");
    problem.hidden = false;
    field.focus();
  }
  return element;
}
