/**
 * The sessions this page knows, and the order they stand in (pure).
 *
 * A session is told from others by its handle while it has a terminal, by its id once it is closed. Order: projects with
 * open sessions first, then as the host lists them; within a project open sessions in the order they were opened, then
 * closed ones, newest first. A change of status moves nothing: people look where they looked before.
 */

import type { SessionInfo } from "./messages";
import { labelOf, lastSegments, plain } from "./text";

/** `h` and the handle of a session that has one, else `i` and its id in lower case. */
export type Key = string;

export interface Project {
  path: string;
  title: string;
  sessions: SessionInfo[];
}

export interface Filter {
  text: string;
  running: boolean;
  today: boolean;
}

export const NO_FILTER: Filter = { text: "", running: false, today: false };

export function keyOf(session: SessionInfo): Key {
  return session.handle !== null ? `h${session.handle}` : `i${session.id.toLowerCase()}`;
}

export function sameConversation(one: SessionInfo, other: SessionInfo): boolean {
  return one.id.toLowerCase() === other.id.toLowerCase();
}

/** The host's full list; a conversation that has a terminal is not listed again as closed. */
export function merged(listed: SessionInfo[]): SessionInfo[] {
  const hosted = new Set(listed.filter((s) => s.handle !== null).map((s) => s.id.toLowerCase()));
  return listed.filter((s) => s.handle !== null || !hosted.has(s.id.toLowerCase()));
}

/** A fresh list in the order that is known already, what is new behind it: a reconnect moves no project. */
export function inKnownOrder(known: SessionInfo[], fresh: SessionInfo[]): SessionInfo[] {
  const place = new Map(known.map((session, i) => [session.id.toLowerCase(), i]));
  const of = (session: SessionInfo) => place.get(session.id.toLowerCase()) ?? Infinity;
  return fresh.map((session, i) => ({ session, i })).sort((a, b) => {
    const [one, other] = [of(a.session), of(b.session)];
    return one === other ? a.i - b.i : one - other;
  }).map(({ session }) => session);
}

/** One session is new or has changed. A closed entry of the same conversation gives way to it, where it stands. */
export function changed(sessions: SessionInfo[], session: SessionInfo): SessionInfo[] {
  const key = keyOf(session);
  const closed = (s: SessionInfo) => s.handle === null && sameConversation(s, session);
  const old = sessions.find((s) => keyOf(s) === key) ?? sessions.find(closed);
  if (old === undefined) return [...sessions, session];
  return sessions.flatMap((s) => (s === old ? [session] : closed(s) ? [] : [s]));
}

/** A session has left the host. An agent's conversation can be resumed, so it stays in the list as closed. */
export function gone(sessions: SessionInfo[], handle: number): SessionInfo[] {
  const session = sessions.find((s) => s.handle === handle);
  const others = sessions.filter((s) => s.handle !== handle);
  // The conversation may be open again under another handle: then this was only its old terminal.
  if (session === undefined || session.kind !== "agent" || others.some((s) => sameConversation(s, session))) return others;
  const closed: SessionInfo = {
    ...session,
    state: "closed",
    status: "closed",
    handle: null,
    pid: null,
    waiting_for: null,
    draft: false,
    attention: false,
    exit: null,
    opened_by: null,
    sandbox: false,
    cli_version: null,
    modified_at: session.status_since ?? session.modified_at ?? session.opened_at,
  };
  return [...others, closed];
}

/** Where the conversation of `before` is among these sessions: in the terminal in which it runs, if it does. */
export function goesOn(before: SessionInfo, sessions: SessionInfo[]): SessionInfo | undefined {
  const now = sessions.find((s) => keyOf(s) === keyOf(before));
  if (now?.state === "open") return now;
  const same = sessions.filter((s) => sameConversation(s, now ?? before));
  return same.filter((s) => s.state === "open").at(-1) ?? now ?? same[0];
}

/** The instant a session was last heard of. */
export function lastSeen(session: SessionInfo): number | null {
  if (session.handle === null) return session.modified_at ?? session.opened_at;
  return session.status_since ?? session.opened_at;
}

export function matches(session: SessionInfo, filter: Filter, startOfDay: number): boolean {
  if (filter.running && session.state !== "open") return false;
  if (filter.today && session.state !== "open" && (lastSeen(session) ?? 0) < startOfDay) return false;
  const wanted = filter.text.trim().toLowerCase();
  if (wanted === "") return true;
  const words = [labelOf(session), session.id, session.cwd ?? "", session.project ?? "", session.cli, session.status];
  const text = words.join("\n").toLowerCase();
  return wanted.split(/\s+/).every((word) => text.includes(word));
}

/** The list as it is shown. */
export function projects(sessions: SessionInfo[], filter: Filter, startOfDay: number): Project[] {
  const grouped = new Map<string, SessionInfo[]>();
  const open = new Set(sessions.filter((s) => s.state === "open").map((s) => s.id.toLowerCase()));
  for (const session of sessions) {
    // The ended terminal of a conversation that is open again is no session of its own.
    if (session.state === "exited" && open.has(session.id.toLowerCase())) continue;
    if (!matches(session, filter, startOfDay)) continue;
    const path = session.project ?? session.cwd ?? "";
    const group = grouped.get(path);
    if (group) group.push(session);
    else grouped.set(path, [session]);
  }
  const found = [...grouped].map(([path, group]) => ({
    path,
    title: path ? plain(lastSegments(path)) : "(no project)",
    sessions: group.sort(byPlace),
  }));
  const rank = (project: Project) => (project.sessions.some((s) => s.state === "open") ? 0 : 1);
  return found.map((p, i) => ({ p, i })).sort((a, b) => rank(a.p) - rank(b.p) || a.i - b.i).map(({ p }) => p);
}

function byPlace(one: SessionInfo, other: SessionInfo): number {
  if (one.handle !== null && other.handle !== null) return one.handle - other.handle;
  if (one.handle !== null) return -1;
  if (other.handle !== null) return 1;
  return (lastSeen(other) ?? 0) - (lastSeen(one) ?? 0);
}

/** Directories that sessions ran in, most recent first, each once. */
export function knownDirectories(sessions: SessionInfo[]): string[] {
  const newest = new Map<string, number>();
  for (const session of sessions) {
    if (session.cwd) newest.set(session.cwd, Math.max(newest.get(session.cwd) ?? 0, lastSeen(session) ?? 0));
  }
  return [...newest].sort((a, b) => b[1] - a[1]).map(([path]) => path);
}
