/** Questions in the browser's own modal dialogs: they keep the keyboard inside and give it back afterwards. */

import { buttonIcon } from "./icons";
import { type Child, h } from "./dom";

let numbered = 0;

export interface Modal {
  dialog: HTMLDialogElement;
  closed: Promise<string>;
}

/** Show a dialog; `closed` gives its return value ("" for Escape). */
export function modal(title: string, className: string, ...children: Child[]): Modal {
  const id = `dialog-title-${++numbered}`;
  const dialog = h(
    "dialog",
    { class: `dialog ${className}`, "aria-labelledby": id },
    h(
      "header",
      {},
      h("h2", { id }, title),
      h("button", { type: "button", class: "ghost", "aria-label": "Close", onclick: () => dialog.close() }, buttonIcon("close")),
    ),
    ...children,
  );
  const before = document.activeElement;
  document.body.append(dialog);
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  const closed = new Promise<string>((resolve) => {
    dialog.addEventListener("close", () => {
      dialog.remove();
      // The browser has given the keyboard back when the dialog closed, which was earlier than this event: by now it
      // may have been put elsewhere. Only a keyboard that is nowhere is taken care of.
      if (document.activeElement === document.body && before instanceof HTMLElement && before.isConnected) before.focus();
      resolve(dialog.returnValue);
    });
  });
  dialog.showModal();
  return { dialog, closed };
}

export interface Question {
  title: string;
  text: string;
  confirm: string;
  danger?: boolean;
}

/** Ask; true when the person said yes. Escape and the cross mean no. */
export async function ask(question: Question): Promise<boolean> {
  const cancel = h("button", { type: "submit", value: "" }, "Cancel");
  const form = h(
    "form",
    { method: "dialog" },
    h("p", {}, question.text),
    h(
      "div",
      { class: "buttons" },
      cancel,
      h("button", { type: "submit", value: "yes", class: question.danger ? "danger" : "primary" }, question.confirm),
    ),
  );
  const { dialog, closed } = modal(question.title, "question", form);
  dialog.setAttribute("role", "alertdialog");
  // What cannot be taken back needs more than the Enter that was meant for a terminal.
  (question.danger ? cancel : form.querySelector<HTMLButtonElement>(".primary"))?.focus();
  return (await closed) === "yes";
}

export function modalOpen(): boolean {
  return document.querySelector("dialog[open]") !== null;
}
