/** The search box of the terminal on screen. */

import type { App } from "./app";
import { hitColours, isDark } from "./colours";
import { h, setText } from "./dom";
import { buttonIcon } from "./icons";
import type { TerminalView } from "./terminal";

export interface SearchBox {
  element: HTMLElement;
  open(): void;
  /** Another terminal is on screen: the same conversation's (`same`), or what was looked for is not there any more. */
  moved(same: boolean): void;
}

export function mountSearch(app: App, shown: () => TerminalView | undefined): SearchBox {
  let view: TerminalView | undefined;
  let listening: { dispose(): void } | undefined;
  const field = h("input", { type: "text", "aria-label": "Find in terminal", placeholder: "Find", spellcheck: "false", autocomplete: "off" });
  const found = h("span", { class: "found", role: "status" });
  const step = (back: boolean) => {
    const options = { decorations: hitColours(isDark(app.prefs.theme)) };
    if (field.value === "") view?.surface.search.clearDecorations();
    else if (back) view?.surface.search.findPrevious(field.value, options);
    else view?.surface.search.findNext(field.value, options);
  };
  const close = () => {
    element.hidden = true;
    listening?.dispose();
    view?.surface.search.clearDecorations();
    view = undefined;
    app.focusTerminal();
  };
  const element = h(
    "div",
    { class: "find", role: "search", hidden: true },
    field,
    found,
    h("button", { type: "button", class: "ghost", "aria-label": "Previous match", onclick: () => step(true) }, buttonIcon("up")),
    h("button", { type: "button", class: "ghost", "aria-label": "Next match", onclick: () => step(false) }, buttonIcon("down")),
    h("button", { type: "button", class: "ghost", "aria-label": "Close search", onclick: close }, buttonIcon("close")),
  );
  field.addEventListener("input", () => {
    setText(found, "");
    step(true);
  });
  element.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Escape") close();
    else if (event.key === "Enter" && event.target === field) step(!event.shiftKey);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  const attach = () => {
    listening?.dispose();
    view = shown();
    listening = view?.surface.search.onDidChangeResults(({ resultIndex, resultCount }) =>
      setText(found, field.value === "" ? "" : resultCount === 0 ? "none" : `${resultIndex + 1} of ${resultCount}`),
    );
  };
  const moved = (same: boolean) => {
    if (element.hidden) return;
    if (same) attach();
    else element.hidden = true;
  };
  const open = () => {
    attach();
    if (!view) return;
    const selection = view.term.getSelection();
    if (selection && !selection.includes("\n")) field.value = selection;
    element.hidden = false;
    field.focus();
    field.select();
    step(true);
  };
  return { element, open, moved };
}
