/** Small helpers for building the page. Text is always set as text, never as markup. */

export type Child = Node | string | null | undefined | false;
type Attributes = Record<string, string | number | boolean | null | undefined | ((event: never) => void)>;

/** An element. `on…` attributes are listeners; false, null and undefined leave an attribute out. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** A drawing of 16 x 16 from path data; hidden from screen readers, because a word stands beside each. */
export function drawing(name: string, ...paths: string[]): SVGSVGElement {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("focusable", "false");
  for (const data of paths) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", data);
    svg.append(path);
  }
  return svg;
}

/** Set text only when it differs, so that selections and screen readers are left in peace. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setAttribute(element: Element, name: string, value: string | null): void {
  if (value === null) {
    if (element.hasAttribute(name)) element.removeAttribute(name);
  } else if (element.getAttribute(name) !== value) {
    element.setAttribute(name, value);
  }
}

/** Make `parent`'s children exactly `wanted`, moving as few as possible. What has the keyboard stays, and keeps it. */
export function setChildren(parent: Element, wanted: Node[]): void {
  const keep = new Set(wanted);
  for (const child of [...parent.childNodes]) if (!keep.has(child)) child.remove();
  // An element that is moved loses the keyboard, so the others are moved around it.
  const fixed = wanted.findIndex((child) => child.parentNode === parent && child.contains(document.activeElement));
  for (let place = fixed - 1; place >= 0; place--) {
    const [child, next] = [wanted[place] as Node, wanted[place + 1] as Node];
    if (child.nextSibling !== next) parent.insertBefore(child, next);
  }
  for (let place = fixed + 1; place < wanted.length; place++) {
    const child = wanted[place] as Node;
    const there = place === 0 ? parent.firstChild : (wanted[place - 1] as Node).nextSibling;
    if (there !== child) parent.insertBefore(child, there);
  }
}

/** Whether keys typed now go into a text field (a terminal's own one does not count). */
export function inTextField(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement) || inTerminal(target)) return false;
  return target.matches("input, textarea, select, [contenteditable]");
}

export function inTerminal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".xterm") !== null;
}
