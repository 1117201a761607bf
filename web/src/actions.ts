/** What a person can do, whichever button, key or palette entry it came from. */

import type { App } from "./app";
import { goesOn, type Key, keyOf, projects } from "./catalog";
import { writeClipboard } from "./clipboard";
import { ask } from "./dialogs";
import type { Done, SessionInfo } from "./messages";
import { isReserved } from "./placeholders";
import { selectedSession } from "./state";
import { cliTitle, labelOf } from "./text";

const NOT_COPIED = "The browser did not allow copying.";

/** Show a session: attach to an open one, resume a closed one, await one that a trigger is having made. */
export function activate(app: App, chosen: SessionInfo): void {
  // What was chosen from may have been drawn a while ago; the conversation may run in another terminal by now.
  const session = goesOn(chosen, app.store.state.sessions) ?? chosen;
  select(app, keyOf(session));
  if (session.handle === null && !isReserved(app.store.state.placeholders, session)) void resume(app, session);
}

export function select(app: App, key: Key): void {
  app.store.dispatch({ type: "select", key });
  app.drawer(false);
  if (app.prefs.view === "grid") app.prefer({ view: "single" });
  app.focusTerminal();
}

export async function resume(app: App, session: SessionInfo, force = false): Promise<void> {
  if (app.store.state.opening === session.id) return;
  app.store.dispatch({ type: "opening", id: session.id });
  const answer = (await app.socket.request({
    type: "open",
    mode: "resume",
    profile: session.cli,
    session_id: session.id,
    cwd: session.cwd,
    force,
    ...roomFor(app),
  })) as Done;
  if (answer.ok && answer.session) {
    app.store.dispatch({ type: "opened", problem: null });
    // The person may have gone elsewhere meanwhile; then they are left there.
    const selected = selectedSession(app.store.state);
    if (selected === null || selected.id.toLowerCase() === session.id.toLowerCase()) select(app, keyOf(answer.session));
    // Its ended terminal has served; the conversation goes on in the new one.
    if (session.handle !== null && session.handle !== answer.session.handle) await remove(app, session);
    return;
  }
  const problem = { id: session.id, reason: answer.reason ?? "", detail: answer.detail ?? "" };
  app.store.dispatch({ type: "opened", problem });
  if (answer.reason !== "session live elsewhere" || force) {
    // The pane says it in place of a terminal; where there is one, or the person is elsewhere, a toast does.
    const selected = app.prefs.view === "single" ? selectedSession(app.store.state) : null;
    if (session.handle !== null || selected?.id !== session.id) app.toast(refusal(`${labelOf(session)} was not resumed`, answer), "error");
    return;
  }
  const again = await ask({
    title: "It is open in another program",
    text: `${sentence(answer.detail)} Two programs writing one conversation can mix it up.`,
    confirm: "Open here as well",
    danger: true,
  });
  if (again) await resume(app, session, true);
}

export interface NewSession {
  profile: string;
  cwd: string;
  name: string;
}

/** Open a new session; returns why not, null when it is open. */
export async function openNew(app: App, wanted: NewSession): Promise<Done | null> {
  const answer = (await app.socket.request({
    type: "open",
    mode: wanted.profile === "shell" ? "shell" : "new",
    profile: wanted.profile,
    cwd: wanted.cwd,
    name: wanted.name || null,
    ...roomFor(app),
  })) as Done;
  if (!answer.ok || !answer.session) return answer;
  app.prefer({ profile: wanted.profile });
  select(app, keyOf(answer.session));
  return null;
}

/** Stop after a question; what does not end in time can be ended by force after another. */
export async function stop(app: App, session: SessionInfo): Promise<void> {
  if (session.handle === null) return;
  if (session.state === "exited") return remove(app, session);
  const sure = await ask({
    title: `Stop “${labelOf(session)}”?`,
    text:
      session.kind === "agent"
        ? `${cliTitle(session.cli)} is asked to end. The conversation stays and can be resumed.` +
          (session.draft ? " There may be a draft in its composer, and that is lost." : "")
        : "The program in this terminal is asked to end.",
    confirm: "Stop",
    danger: true,
  });
  if (!sure) return;
  const answer = (await app.socket.request({ type: "stop", session: session.handle })) as Done;
  if (answer.ok) return app.toast(`Stopped ${labelOf(session)}.`);
  if (answer.reason !== "session stop not confirmed") return app.toast(refusal("Not stopped", answer), "error");
  const force = await ask({
    title: `“${labelOf(session)}” still runs`,
    text: "It was asked to end and has not done so. Ended by force it cannot save anything.",
    confirm: "End by force",
    danger: true,
  });
  if (!force) return;
  const forced = (await app.socket.request({ type: "stop", session: session.handle, force: true })) as Done;
  if (!forced.ok) app.toast(refusal("Not stopped", forced), "error");
}

/** Take an ended session out of the list; that another page has done so by now is as good. */
export async function remove(app: App, session: SessionInfo): Promise<void> {
  if (session.handle === null) return;
  const answer = (await app.socket.request({ type: "stop", session: session.handle })) as Done;
  if (!answer.ok && answer.reason !== "session not found") app.toast(refusal("Not removed", answer), "error");
}

export async function rename(app: App, session: SessionInfo, name: string): Promise<void> {
  if (session.handle === null) return;
  const answer = (await app.socket.request({ type: "rename", session: session.handle, name })) as Done;
  if (!answer.ok) app.toast(refusal("Not renamed", answer), "error");
}

export async function copy(app: App, text: string, what: string): Promise<void> {
  if (await writeClipboard(text)) app.toast(what ? `Copied ${what}.` : "Copied.");
  else app.toast(NOT_COPIED, "warning");
}

/** Copy what is selected in the terminal: said only when it failed, as in any terminal. */
export async function copySelection(app: App, text: string): Promise<void> {
  if (!(await writeClipboard(text))) app.toast(NOT_COPIED, "warning");
}

/** Open or close the drawer with triggers. The keyboard stays where it is, unless that was in the drawer. */
export function toggleActivity(app: App): void {
  const within = document.activeElement?.closest(".activity") != null;
  app.prefer({ activity: !app.prefs.activity });
  if (within) app.focusTerminal();
}

/** Show all running sessions side by side, or one alone. A keyboard that goes with its card is in the terminal then. */
export function toggleGrid(app: App): void {
  const alone = app.prefs.view === "grid";
  const selected = selectedSession(app.store.state);
  const active = document.activeElement;
  const nowhere = active === null || active === document.body;
  const within = selected?.handle != null && app.deck.get(selected.handle)?.element.contains(active);
  app.prefer({ view: alone ? "single" : "grid" });
  if (alone && (nowhere || within)) app.focusTerminal();
}

/** Ask for more closed sessions. */
export async function listMore(app: App): Promise<void> {
  const closed = app.store.state.sessions.filter((s) => s.handle === null).length;
  const answer = await app.socket.request({ type: "list", closed: Math.min(10_000, Math.max(200, closed * 4)) });
  if (answer.type === "listing") app.store.dispatch({ type: "listing", sessions: answer.sessions });
}

/** Sessions in the order of the sidebar, as Alt+1 to 9 count them. */
export function inOrder(app: App): SessionInfo[] {
  const { running, today } = app.prefs;
  return projects(app.store.state.sessions, { text: "", running, today }, startOfDay())
    .flatMap((project) => project.sessions)
    .filter((session) => session.handle !== null);
}

/** Go to the next session that waits for a person. */
export function nextWaiting(app: App): void {
  const waiting = inOrder(app).filter((s) => s.status === "waiting");
  const place = waiting.findIndex((s) => keyOf(s) === app.store.state.selected);
  const next = waiting[(place + 1) % waiting.length];
  if (next) select(app, keyOf(next));
  else app.toast("No session waits for you.");
}

export function startOfDay(): number {
  return new Date().setHours(0, 0, 0, 0);
}

export function refusal(what: string, answer: Done): string {
  return `${what}: ${answer.detail || answer.reason || "the host gave no reason"}`;
}

/** A host's detail as a sentence. */
export function sentence(text: string | null): string {
  if (!text) return "";
  return `${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}

/** The size a new terminal would have here, so that a program starts in the one it will keep. */
export function roomFor(app: App): { columns?: number; rows?: number } {
  const pane = document.querySelector<HTMLElement>(".pane");
  if (!pane || pane.hidden || pane.offsetWidth < 100 || app.prefs.view === "grid") return {};
  const probe = document.createElement("span");
  probe.className = "cell-probe";
  probe.textContent = "0".repeat(100);
  probe.style.fontSize = `${app.prefs.fontSize}px`;
  pane.append(probe);
  const box = probe.getBoundingClientRect();
  probe.remove();
  const columns = Math.floor((pane.clientWidth - 30) / (box.width / 100));
  const rows = Math.floor((pane.clientHeight - 12) / box.height);
  return columns >= 20 && rows >= 5 ? { columns: Math.min(columns, 1000), rows: Math.min(rows, 1000) } : {};
}
