/** The grid: every running session as a live card. */

import { select, stop } from "./actions";
import type { App } from "./app";
import { keyOf, NO_FILTER, projects } from "./catalog";
import { h, setChildren, setText } from "./dom";
import { cardFor } from "./gridkeys";
import { buttonIcon, statusIcon } from "./icons";
import type { SessionInfo } from "./messages";
import { cliTitle, labelOf, lastSegments, originMark, plain, sandboxMark, statusWord } from "./text";

interface Card {
  element: HTMLElement;
  body: HTMLElement;
  update(session: SessionInfo): void;
}

export interface Grid {
  element: HTMLElement;
  /** The person's keyboard is in this session's card. */
  entered(handle: number): void;
  /** The handle of the card in use. */
  active(): number | null;
}

export function mountGrid(app: App): Grid {
  const cards = new Map<number, Card>();
  const none = h("p", { class: "quiet none" }, "No session is running.");
  const element = h("div", { class: "grid", role: "list", "aria-label": "Running sessions" });
  element.addEventListener("keydown", (event) => {
    const titles = [...element.querySelectorAll<HTMLElement>(".card-title")];
    const from = titles.indexOf(event.target as HTMLElement);
    if (from < 0 || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return;
    const to = cardFor(event.key, titles.map((title) => ({ left: title.getBoundingClientRect().left, top: title.getBoundingClientRect().top })), from);
    if (to === null) return;
    event.preventDefault();
    titles[to]?.focus();
  });
  let active: number | null = null;
  let shownHandles = "";

  const entered = (handle: number) => {
    if (app.prefs.view !== "grid" || active === handle) return;
    active = handle;
    for (const [other, card] of cards) card.element.classList.toggle("active", other === handle);
    const view = app.deck.get(handle);
    if (view) {
      view.mode = "fit";
      view.use();
    }
  };

  app.store.subscribe((state) => {
    const grid = app.prefs.view === "grid";
    element.hidden = !grid;
    if (!grid) {
      for (const handle of cards.keys()) {
        const view = app.deck.get(handle);
        if (view) view.mode = "fit";
      }
      active = null;
      shownHandles = "";
      return;
    }
    const open = projects(state.sessions, NO_FILTER, 0).flatMap((p) => p.sessions).filter((s) => s.state === "open" && s.handle !== null);
    const handles = open.map((s) => s.handle as number);
    const wanted = open.map((session) => {
      const handle = session.handle as number;
      let card = cards.get(handle);
      if (!card) cards.set(handle, (card = makeCard(app, session)));
      card.update(session);
      const view = app.deck.open(session as SessionInfo & { handle: number });
      if (view.element.parentNode !== card.body) {
        view.mode = handle === active ? "fit" : "scale";
        card.body.append(view.element);
        view.layout();
      }
      return card.element;
    });
    for (const handle of [...cards.keys()]) if (!handles.includes(handle)) cards.delete(handle);
    setChildren(element, wanted.length > 0 ? wanted : [none]);
    if (handles.join() !== shownHandles) {
      shownHandles = handles.join();
      app.deck.onScreen(handles);
    }
  });
  return { element, entered, active: () => active };
}

function makeCard(app: App, session: SessionInfo): Card {
  const handle = session.handle as number;
  let now = session;
  let drawn = "";
  const icon = h("span", { class: "head-icon" });
  const name = h("span", { class: "card-name" });
  const word = h("span", { class: "card-word" });
  const place = h("span", { class: "card-place" });
  const open = () => select(app, keyOf(now));
  const enter = () => app.deck.get(handle)?.term.focus();
  const title = h("button", { type: "button", class: "card-title", title: "Click: type here. Double click: open", onclick: enter }, icon, name, word, place);
  const body = h("div", { class: "card-body" });
  const element = h(
    "div",
    { class: "card", role: "listitem" },
    h("div", { class: "card-head" },
      title,
      h("button", { type: "button", class: "ghost", "aria-label": "Stop", title: "Stop", onclick: () => void stop(app, now) }, buttonIcon("stop")),
      h("button", { type: "button", class: "ghost", "aria-label": "Open alone", title: "Open alone", onclick: open }, buttonIcon("chevron"))),
    body,
  );
  element.addEventListener("click", (event) => {
    if (!(event.target as HTMLElement).closest("button")) enter();
  });
  title.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") enter();
    else if (event.key === "Enter" && event.shiftKey) open();
    else if (event.key === "Delete") void stop(app, now);
    else return;
    event.preventDefault();
  });
  element.addEventListener("dblclick", open);
  const update = (next: SessionInfo) => {
    now = next;
    if (drawn !== next.status) icon.replaceChildren(statusIcon(next.status));
    drawn = next.status;
    element.dataset["status"] = next.status;
    setText(name, labelOf(next));
    setText(word, statusWord(next));
    setText(place, [cliTitle(next.cli), next.cwd ? plain(lastSegments(next.cwd)) : "", sandboxMark(next), originMark(next)].filter(Boolean).join(" · "));
  };
  return { element, body, update };
}
