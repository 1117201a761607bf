/** The question before a program's text goes into the clipboard. It stays until it is answered; later ones wait. */

import { copy } from "./actions";
import type { App } from "./app";
import { h, setText } from "./dom";
import { truthful } from "./truth";

/** Nobody reads and decides faster: a click that was on its way to something else does not copy. */
export const UNREADY_MS = 700;

/** Questions that wait; a program that asks on and on is only counted. */
const MOST = 8;

export function mountCopyQuestion(app: () => App): { element: HTMLElement; ask(name: string, text: string): void } {
  const waiting: { name: string; text: string }[] = [];
  let dropped = 0;
  let timer: number | undefined;
  const title = h("p", {});
  const warning = h("p", { class: "copy-warning", hidden: true });
  const body = h("pre", { tabindex: 0, role: "group", "aria-label": "The text" });
  const yes = h("button", { type: "button", class: "primary", onclick: () => answer(true) }, "Copy");
  const no = h("button", { type: "button", onclick: () => answer(false) }, "Refuse");
  const all = h("button", { type: "button", hidden: true, onclick: () => { waiting.length = 1; answer(false); } }, "Refuse all");
  // Below the buttons, so that nothing moves under the pointer when more come.
  const more = h("p", { class: "quiet copy-more" });
  const element = h(
    "div",
    { class: "copy-question", role: "region", "aria-label": "Clipboard question", hidden: true },
    title, warning, body, h("div", { class: "copy-buttons" }, yes, no, all), more,
  );

  const count = () => {
    const later = waiting.length - 1;
    all.hidden = later < 1;
    const said = [later > 0 ? `${later} more ${later === 1 ? "question waits" : "questions wait"}.` : "", dropped > 0 ? `${dropped} further ${dropped === 1 ? "was" : "were"} refused: too many at once.` : ""];
    setText(more, said.filter(Boolean).join(" "));
  };
  const show = () => {
    const first = waiting[0];
    element.hidden = first === undefined;
    clearTimeout(timer);
    if (first === undefined) {
      dropped = 0;
      return;
    }
    const shown = truthful(first.text);
    setText(title, `${first.name} wants to copy ${first.text.length} characters to your clipboard:`);
    warning.hidden = shown.warning === null;
    setText(warning, shown.warning ?? "");
    body.replaceChildren(shown.head, ...(shown.gap === null ? [] : [h("span", { class: "copy-gap" }, shown.gap), shown.tail]));
    body.scrollTop = 0;
    yes.disabled = true;
    timer = setTimeout(() => (yes.disabled = false), UNREADY_MS);
    count();
  };
  const answer = (accepted: boolean) => {
    const first = waiting.shift();
    show();
    if (accepted && first) void copy(app(), first.text, "");
    app().focusTerminal();
  };
  const ask = (name: string, text: string) => {
    if (waiting.some((one) => one.name === name && one.text === text)) return;
    if (waiting.length >= MOST) dropped++;
    else waiting.push({ name, text });
    if (waiting.length === 1) show();
    else count();
  };
  return { element, ask };
}
