/** A small menu under a button. */

import { h } from "./dom";

export interface Item {
  label: string;
  keys?: string;
  checked?: boolean;
  run: () => void;
}

let close: (() => void) | null = null;

/** Open a menu at `button`, or close it when it is open there. */
export function openMenu(button: HTMLElement, label: string, items: Item[]): void {
  const again = button.getAttribute("aria-expanded") === "true";
  close?.();
  if (again) return;
  const choose = (item: Item) => {
    shut(true);
    item.run();
  };
  const entries = items.map((item) =>
    h(
      "button",
      {
        type: "button",
        role: item.checked === undefined ? "menuitem" : "menuitemcheckbox",
        "aria-checked": item.checked === undefined ? null : String(item.checked),
        tabindex: -1,
        onclick: () => choose(item),
      },
      h("span", {}, item.label),
      item.keys ? h("kbd", {}, item.keys) : null,
    ),
  );
  const menu = h("div", { class: "menu", role: "menu", "aria-label": label }, ...entries);
  const shut = (giveBack: boolean) => {
    close = null;
    menu.remove();
    button.setAttribute("aria-expanded", "false");
    removeEventListener("pointerdown", outside, true);
    if (giveBack) button.focus();
  };
  const outside = (event: Event) => {
    if (!menu.contains(event.target as Node) && !button.contains(event.target as Node)) shut(false);
  };
  menu.addEventListener("keydown", (event) => {
    const place = entries.indexOf(document.activeElement as HTMLButtonElement);
    const moves: Record<string, number> = { ArrowDown: place + 1, ArrowUp: place - 1, Home: 0, End: -1 };
    const to = moves[event.key];
    if (to !== undefined) entries.at(to % entries.length)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") shut(true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("pointerdown", outside, true);
  close = () => shut(false);
  button.after(menu);
  const box = button.getBoundingClientRect();
  menu.style.top = `${Math.min(box.bottom + 4, innerHeight - menu.offsetHeight - 8)}px`;
  menu.style.left = `${Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8))}px`;
  button.setAttribute("aria-expanded", "true");
  entries[0]?.focus();
}
