/** Builds the page and connects its parts; decides nothing. */

import "@xterm/xterm/css/xterm.css";
import "./style.css";
import "./views.css";
import { mountActivity } from "./activity";
import { roomFor } from "./actions";
import type { App } from "./app";
import { mountBanners, mountClosed } from "./banners";
import { isDark, onSystemColours, terminalColours } from "./colours";
import { Deck } from "./deck";
import { h, inTextField } from "./dom";
import { mountGrid } from "./grid";
import { mountHeader } from "./header";
import { mountKeyBar } from "./keybar";
import { commandFor, mountKeys } from "./keys";
import { MAC } from "./keynames";
import { watchAges } from "./ages";
import { mountPane } from "./pane";
import { loadPrefs, savePrefs } from "./prefs";
import { rememberSelection } from "./selection";
import { SessionActions } from "./sessionaction";
import { mountSidebar } from "./sidebar";
import { mountShell } from "./shell";
import { Socket } from "./socket";
import { mountStatusBar } from "./statusbar";
import { Store } from "./store";
import { labelOf } from "./text";
import type { Look } from "./surface";

const store = new Store();
const prefs = loadPrefs();
const coarse = matchMedia("(pointer: coarse)");
const look = (): Look => ({ colours: terminalColours(isDark(prefs.theme)), fontSize: prefs.fontSize, screenReader: prefs.screenReader });

const socket = new Socket({
  link: (link, text) => {
    if (link !== "online") {
      deck.lost();
      sessionActions.lost();
    }
    store.dispatch({ type: "link", link, text });
  },
  message: (message) => {
    const first = message.type === "sessions" && !store.state.listed;
    const { version } = store.state;
    if (message.type === "welcome" && version !== "" && version !== message.version) {
      app.toast(`The host is version ${message.version} now, and this page came with ${version}. Load it anew.`, "error");
    }
    store.dispatch({ type: "host", message });
    deck.received(message);
    sessionActions.received(message);
    if (message.type === "notice") app.toast(message.text, message.level);
    // Ready once the first list has been drawn, which the store does in this turn's microtask.
    if (message.type === "sessions") queueMicrotask(() => socket.send({ type: "ready" }));
    if (first) selection.restore();
  },
  output: (output) => deck.output(output),
  untold: (sessions) => {
    const named = store.state.sessions.filter((s) => s.handle !== null && sessions.includes(s.handle)).map((s) => `“${labelOf(s)}”`);
    if (named.length > 0) app.toast(`The connection was lost: what was typed last into ${named.join(" and ")} may not have arrived. Look before you type it again.`, "error");
  },
});

const banners = mountBanners(() => app);

const deck = new Deck(
  {
    attach: (session, from_seq) => void socket.send({ type: "attach", session, from_seq }),
    detach: (session) => void socket.send({ type: "detach", session }),
    focus: (session, columns, rows, free, before) => void socket.send({ type: "focus", session, columns, rows, free, before }),
    type: (handle, data, answer) => {
      if (store.state.sessions.some((s) => s.handle === handle && s.state === "exited")) banners.flash("this session has ended: nothing was typed");
      else if (!socket.type(handle, data, answer)) banners.flash("not connected: nothing was typed");
      else return true;
      return false;
    },
    copyWanted: (handle, text) => {
      const session = store.state.sessions.find((s) => s.handle === handle);
      banners.copyWanted(session ? labelOf(session) : "A program", text);
    },
    linkHovered: (url) => status.hover(url),
    entered: (handle) => grid.entered(handle),
    modify: (text) => keybar.modify(text),
    appKey: (event) => event.type === "keydown" && commandFor(event, MAC) !== null && commandFor(event, MAC) !== "copy",
  },
  look(),
);

const app: App = {
  store,
  socket,
  deck,
  prefs,
  prefer(change) {
    Object.assign(prefs, change);
    savePrefs(prefs);
    restyle();
    store.changed();
  },
  toast: (text, level = "info") => banners.toast(text, level),
  flash: (text) => banners.flash(text),
  focusTerminal() {
    const before = document.activeElement;
    // After the views have drawn what is shown now, and before the next key: a timer would come too late for that one.
    queueMicrotask(() => {
      if (document.querySelector("dialog[open]")) return;
      // Meanwhile a field was opened, like that of a new name: what is typed is for it, not for a program.
      if (document.activeElement !== before && inTextField(document.activeElement)) return;
      const view = activeView();
      if (view === undefined) document.querySelector<HTMLElement>(".place button")?.focus();
      else if (!coarse.matches) view.term.focus();
      else if (view.mode === "fit") view.use(); // no keyboard that covers half the screen, but the size
    });
  },
  drawer: (open) => shell.drawer(open),
  startRename: () => header.startRename(),
  startSearch: () => pane.startSearch(),
};

const header = mountHeader(app);
const pane = mountPane(app);
const grid = mountGrid(app);
const status = mountStatusBar(app);
const activeView = () => {
  const first = store.state.sessions.find((s) => s.state === "open" && s.handle !== null)?.handle;
  return prefs.view === "grid" ? deck.get(grid.active() ?? first ?? 0) : pane.view();
};
// Never a guess: its Ctrl-C must not reach a session that nobody chose.
const keybar = mountKeyBar(() => (prefs.view === "grid" ? deck.get(grid.active() ?? 0) : pane.view()));
store.subscribe(() => (keybar.element.hidden = prefs.view === "single" && pane.view() === undefined));
const room = h("main", { class: "main-room", tabindex: -1, "aria-label": "Terminal" }, pane.element, grid.element);
const shell = mountShell(app, {
  sidebar: mountSidebar(app),
  header: header.element,
  room,
  keybar: keybar.element,
  activity: mountActivity(app),
  status: status.element,
});
const selection = rememberSelection(app);
const sessionActions = new SessionActions({
  store,
  send: (message) => socket.send(message),
  request: (wanted) => socket.request(wanted),
  prepare: (session) => deck.prepare(session),
  has: (handle) => deck.get(handle) !== undefined,
  room: () => roomFor(app),
});

function restyle(): void {
  document.documentElement.dataset["theme"] = isDark(prefs.theme) ? "dark" : "light";
  deck.restyle(look());
}

restyle();
onSystemColours(restyle);
document.body.append(shell.element, mountClosed(app), banners.element);
mountKeys(app, () => activeView()?.term.getSelection() ?? "");
watchAges(app);
void socket.start();
