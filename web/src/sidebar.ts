/** The sidebar: search, filters, projects and their sessions. */

import { activate, listMore, startOfDay, stop } from "./actions";
import type { App } from "./app";
import { keyOf, lastSeen, type Project, projects, sameConversation } from "./catalog";
import { h, setAttribute, setChildren, setText } from "./dom";
import { buttonIcon, statusIcon } from "./icons";
import type { SessionInfo } from "./messages";
import { newSession } from "./newsession";
import type { State } from "./state";
import { age, cliTitle, exitText, labelOf, originMark, plain, sandboxMark, statusWord } from "./text";

/** Closed sessions of one project that are shown before "older". */
const CLOSED_SHOWN = 8;

interface Row {
  element: HTMLElement;
  update(session: SessionInfo, selected: boolean, place: number): void;
}

export function mountSidebar(app: App): HTMLElement {
  let text = "";
  const rows = new Map<string, Row>();
  const groups = new Map<string, HTMLElement>();
  const unfolded = new Set<string>();
  let current: string | null = null;

  const dot = h("span", { class: "dot", "aria-hidden": "true" });
  const link = h("span", { class: "sr-only" });
  const search = h("input", {
    type: "search",
    placeholder: "Search sessions",
    "aria-label": "Search sessions",
    autocomplete: "off",
    spellcheck: "false",
    oninput: () => {
      text = search.value;
      app.store.changed();
    },
    onkeydown: (event: KeyboardEvent) => {
      if (event.key !== "ArrowDown" && event.key !== "Enter") return;
      event.preventDefault();
      visible()[0]?.focus();
    },
  });
  const chip = (name: "running" | "today", label: string) =>
    h("button", { type: "button", class: "chip", onclick: () => app.prefer({ [name]: !app.prefs[name] }) }, label);
  const running = chip("running", "Running");
  const today = chip("today", "Today");
  const tree = h("div", { class: "tree", role: "tree", "aria-label": "Sessions by project" });
  const empty = h("p", { class: "quiet none", hidden: true });
  const more = h("button", { type: "button", class: "link more", onclick: () => void listMore(app) }, "Show more closed sessions");
  const element = h(
    "nav",
    { class: "sidebar", id: "sessions", "aria-label": "Sessions" },
    h(
      "div",
      { class: "side-head" },
      h("h1", {}, dot, "Switchboard", link),
      h("button", { type: "button", class: "ghost", title: "New session", "aria-label": "New session", onclick: () => void newSession(app) }, buttonIcon("plus")),
    ),
    h("div", { class: "search" }, buttonIcon("search"), search),
    h("div", { class: "chips", role: "group", "aria-label": "Filters" }, running, today),
    h("div", { class: "scroll" }, tree, empty, more),
  );

  const visible = () => [...tree.querySelectorAll<HTMLElement>('[role="treeitem"]')].filter((e) => e.offsetParent !== null);
  const point = (to: HTMLElement | undefined) => {
    if (!to) return;
    for (const item of visible()) item.tabIndex = item === to ? 0 : -1;
    current = to.dataset["key"] ?? null;
    to.focus();
  };

  tree.addEventListener("focusin", (event) => {
    const item = (event.target as HTMLElement).closest<HTMLElement>('[role="treeitem"]');
    if (item) current = item.dataset["key"] ?? null;
  });
  tree.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const items = visible();
    const place = items.indexOf(document.activeElement as HTMLElement);
    const item = items[place];
    if (!item) return;
    const path = item.dataset["path"];
    const session = app.store.state.sessions.find((s) => keyOf(s) === item.dataset["key"]);
    const folded = item.getAttribute("aria-expanded") === "false";
    switch (event.key) {
      case "ArrowDown": point(items[place + 1]); break;
      case "ArrowUp": place === 0 ? search.focus() : point(items[place - 1]); break;
      case "Home": point(items[0]); break;
      case "End": point(items.at(-1)); break;
      case "ArrowRight": if (path !== undefined && folded) fold(path); else point(items[place + 1]); break;
      case "ArrowLeft":
        if (path !== undefined) { if (!folded) fold(path); }
        else point(item.closest(".project")?.querySelector<HTMLElement>(".project-head") ?? undefined);
        break;
      case "Enter": case " ": item.click(); break;
      case "Delete": if (session) void stop(app, session); break;
      case "F2": if (session?.handle != null) { activate(app, session); app.startRename(); } break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  });

  const fold = (path: string) => {
    const collapsed = app.prefs.collapsed.includes(path)
      ? app.prefs.collapsed.filter((p) => p !== path)
      : [...app.prefs.collapsed, path].slice(-200);
    app.prefer({ collapsed });
  };

  const row = (session: SessionInfo): Row => {
    const key = keyOf(session);
    const known = rows.get(key);
    if (known) return known;
    // The keyboard may be on the row of this conversation when that gets its terminal, or runs again in another one.
    const ended = app.store.state.sessions.find((s) => s.state === "exited" && session.state === "open" && sameConversation(s, session));
    const before = [`i${session.id.toLowerCase()}`, ended && keyOf(ended)].find((one) => one !== undefined && rows.has(one)) ?? "";
    const made = rows.get(before) ?? sessionRow((now) => activate(app, now));
    if (rows.delete(before) && current === before) current = key;
    made.element.dataset["key"] = key;
    rows.set(key, made);
    return made;
  };

  const group = (project: Project, state: State, from: number): HTMLElement => {
    let item = groups.get(project.path);
    if (!item) {
      item = projectGroup(project, () => fold(project.path));
      groups.set(project.path, item);
    }
    const folded = app.prefs.collapsed.includes(project.path) && text === "";
    setAttribute(item.firstElementChild as Element, "aria-expanded", String(!folded));
    const list = item.querySelector(".rows") as HTMLElement;
    list.hidden = folded;
    setText(item.querySelector(".project-title") as HTMLElement, project.title);
    const waiting = project.sessions.some((s) => s.status === "waiting");
    const badge = folded ? `${project.sessions.filter((s) => s.state === "open").length || ""}` : "";
    setText(item.querySelector(".project-count") as HTMLElement, waiting && folded ? "waiting for you" : badge);
    item.classList.toggle("has-waiting", waiting && folded);
    const all = unfolded.has(project.path) || text !== "";
    const closed = project.sessions.filter((s) => s.handle === null);
    const cut = all ? 0 : Math.max(0, closed.length - CLOSED_SHOWN);
    const shown = cut > 0 ? project.sessions.slice(0, project.sessions.length - cut) : project.sessions;
    const children: Node[] = shown.map((session, i) => {
      const made = row(session);
      made.update(session, keyOf(session) === state.selected, from + i);
      return made.element;
    });
    if (cut > 0) children.push(olderButton(list, cut, () => { unfolded.add(project.path); app.store.changed(); }));
    setChildren(list, children);
    return item;
  };

  app.store.subscribe((state) => {
    dot.dataset["link"] = state.link;
    setText(link, state.link === "online" ? " connected" : ` ${state.link}`);
    running.setAttribute("aria-pressed", String(app.prefs.running));
    today.setAttribute("aria-pressed", String(app.prefs.today));
    const filter = { text, running: app.prefs.running, today: app.prefs.today };
    const list = projects(state.sessions, filter, startOfDay());
    let from = 1;
    setChildren(tree, list.map((project) => {
      const made = group(project, state, from);
      from += project.sessions.filter((s) => s.handle !== null).length;
      return made;
    }));
    const keys = new Set(state.sessions.map(keyOf));
    for (const key of [...rows.keys()]) if (!keys.has(key)) rows.delete(key);
    const filtered = text !== "" || app.prefs.running || app.prefs.today;
    empty.hidden = list.length > 0 || !state.listed;
    tree.hidden = list.length === 0;
    setText(empty, filtered ? "No session matches." : "No sessions yet.");
    more.hidden = state.link !== "online" || state.sessions.filter((s) => s.handle === null).length < 50 || app.prefs.running;
    const items = visible();
    const stop = items.find((i) => i.dataset["key"] === current) ?? items.find((i) => i.dataset["key"] === state.selected) ?? items[0];
    for (const item of items) item.tabIndex = item === stop ? 0 : -1;
  });
  return element;
}

function projectGroup(project: Project, toggle: () => void): HTMLElement {
  // A flat tree: levels are told by numbers, so that a project's name is not that of everything in it.
  const head = h(
    "div",
    { class: "project-head", role: "treeitem", "aria-level": 1, tabindex: -1, title: plain(project.path), onclick: toggle },
    buttonIcon("chevron"),
    h("span", { class: "project-title" }),
    h("span", { class: "project-count" }),
  );
  head.dataset["path"] = project.path;
  return h("div", { class: "project", role: "none" }, head, h("div", { class: "rows", role: "none" }));
}

function olderButton(list: Element, number: number, show: () => void): HTMLElement {
  const button = list.querySelector<HTMLElement>(".older") ?? h("div", { class: "older link", role: "treeitem", "aria-level": 2, tabindex: -1 });
  setText(button, `${number} older`);
  button.onclick = show;
  return button;
}

function sessionRow(open: (session: SessionInfo) => void): Row {
  const icon = h("span", { class: "row-icon" });
  const name = h("span", { class: "row-name" });
  const number = h("kbd", { class: "row-number" });
  const word = h("span", { class: "row-word" });
  const rest = h("span", { class: "row-rest" });
  let session: SessionInfo | null = null;
  let drawn = "";
  const element = h(
    "div",
    { class: "row", role: "treeitem", "aria-level": 2, "aria-selected": "false", tabindex: -1, onclick: () => { if (session) open(session); } },
    icon,
    h("span", { class: "row-text" }, h("span", { class: "row-top" }, name, number), h("span", { class: "row-bottom" }, word, rest)),
  );
  const update = (now: SessionInfo, selected: boolean, place: number) => {
    session = now;
    if (drawn !== now.status) icon.replaceChildren(statusIcon(now.status));
    drawn = now.status;
    element.dataset["status"] = now.status;
    element.classList.toggle("attention", now.attention);
    setAttribute(element, "aria-selected", String(selected));
    setText(name, labelOf(now));
    setText(number, now.handle !== null && place <= 9 ? `${place}` : "");
    setText(word, now.state === "exited" ? exitText(now) : statusWord(now));
    const parts = [age(lastSeen(now), Date.now()), cliTitle(now.cli), now.draft && now.state === "open" && now.kind === "agent" ? "draft" : "", now.attention ? "calls you" : "", sandboxMark(now), originMark(now)];
    setText(rest, parts.filter((part) => part !== "").map((part) => ` · ${part}`).join(""));
    setAttribute(element, "title", [labelOf(now), now.waiting_for ? `waiting for: ${plain(now.waiting_for)}` : "", now.cwd ? plain(now.cwd) : "", now.sandbox ? "runs in a sandbox" : "", originMark(now) ? "opened by a trigger" : "", now.id].filter(Boolean).join("\n"));
  };
  return { element, update };
}
