/** The rooms of the page: sidebar with its edge, header, terminal, activity, status bar. */

import type { App } from "./app";
import { h } from "./dom";

export interface Parts {
  sidebar: HTMLElement;
  header: HTMLElement;
  room: HTMLElement;
  keybar: HTMLElement;
  activity: HTMLElement;
  status: HTMLElement;
}

const NARROWEST = 200;
const WIDEST = 640;

export function mountShell(app: App, parts: Parts): { element: HTMLElement; drawer(open: boolean): void } {
  const edge = h("div", {
    class: "edge",
    role: "separator",
    tabindex: 0,
    "aria-orientation": "vertical",
    "aria-label": "Width of the session list",
    "aria-valuemin": NARROWEST,
    "aria-valuemax": WIDEST,
  });
  parts.sidebar.append(edge);
  const shade = h("div", { class: "shade", hidden: true });
  const middle = h("div", { class: "middle" }, parts.header, parts.room, parts.keybar);
  const element = h("div", { class: "shell" }, parts.sidebar, middle, parts.activity, shade, parts.status);

  const drawer = (open: boolean) => {
    if (open === element.classList.contains("drawer-open")) return;
    element.classList.toggle("drawer-open", open);
    shade.hidden = !open;
    if (open) parts.sidebar.querySelector<HTMLElement>('[role="treeitem"][tabindex="0"], input')?.focus();
  };
  shade.addEventListener("click", () => drawer(false));
  parts.sidebar.addEventListener("keydown", (event) => {
    if (event.key === "Escape") drawer(false);
  });

  const widen = (to: number) => app.prefer({ sidebar: Math.round(Math.min(WIDEST, Math.max(NARROWEST, to))) });
  edge.addEventListener("pointerdown", (event) => {
    edge.setPointerCapture(event.pointerId);
    const move = (moved: PointerEvent) => widen(moved.clientX);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
    event.preventDefault();
  });
  edge.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -16, ArrowRight: 16 }[event.key];
    if (step === undefined) return;
    widen(app.prefs.sidebar + step);
    event.preventDefault();
  });
  edge.addEventListener("dblclick", () => widen(300));

  app.store.subscribe(() => {
    element.style.setProperty("--side", `${app.prefs.sidebar}px`);
    edge.setAttribute("aria-valuenow", String(app.prefs.sidebar));
    element.classList.toggle("with-activity", app.prefs.activity);
    element.dataset["link"] = app.store.state.link;
    element.inert = app.store.state.link === "signed-out" || app.store.state.link === "refused";
  });

  // An on-screen keyboard covers the window on some systems without resizing it.
  const viewport = window.visualViewport;
  const resize = () => document.documentElement.style.setProperty("--high", `${viewport?.height ?? innerHeight}px`);
  viewport?.addEventListener("resize", resize);
  resize();
  return { element, drawer };
}
