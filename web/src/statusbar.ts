/** The line at the bottom: how many sessions do what, the host and the connection. */

import { nextWaiting } from "./actions";
import type { App } from "./app";
import { h, setText } from "./dom";
import { statusIcon } from "./icons";
import { counts } from "./state";

export interface StatusBar {
  element: HTMLElement;
  /** A link is under the pointer. */
  hover(url: string | null): void;
}

const LINK_WORDS = {
  connecting: "connecting …",
  online: "connected",
  offline: "not connected, trying again …",
  "signed-out": "signed out",
  refused: "refused",
};

export function mountStatusBar(app: App): StatusBar {
  const running = h("span", {});
  const busy = h("span", {});
  const waiting = h("button", { type: "button", class: "waiting-count", onclick: () => nextWaiting(app) });
  const hovered = h("span", { class: "hovered" });
  const host = h("span", { class: "host" });
  const link = h("span", { class: "link-word", role: "status" });
  const element = h("footer", { class: "status-bar", "aria-label": "Status", tabindex: -1 }, running, busy, waiting, hovered, host, link);
  app.store.subscribe((state) => {
    const now = counts(state.sessions);
    setText(running, `${now.running} running`);
    setText(busy, `${now.busy} busy`);
    busy.hidden = now.busy === 0;
    waiting.hidden = now.waiting === 0;
    if (waiting.dataset["count"] !== `${now.waiting}`) {
      waiting.dataset["count"] = `${now.waiting}`;
      waiting.replaceChildren(statusIcon("waiting"), `${now.waiting} waiting for you`);
    }
    setText(host, state.version ? `host ${state.version}` : "");
    const why = state.link === "offline" && state.linkText ? ` (${state.linkText})` : "";
    setText(link, LINK_WORDS[state.link] + why);
    element.dataset["link"] = state.link;
    document.title = now.waiting > 0 ? `(${now.waiting}) waiting for you · Switchboard` : "Switchboard";
  });
  return { element, hover: (url) => setText(hovered, url ?? "") };
}
