/**
 * Rows of sessions that a trigger is having opened (pure). Such a row stands in the list as a closed conversation that
 * is starting, until its session takes its place or the start has failed. What a fresh list of the host does not know
 * is gone: it was an earlier connection's.
 */

import { sameConversation } from "./catalog";
import type { SessionAction, SessionInfo } from "./messages";

export interface Placeholder {
  permit: string;
  /** The host has reserved the id, and nobody but the trigger may use it yet. */
  fresh: boolean;
  row: SessionInfo;
  /** What stood there before: a closed conversation that the list knew. */
  before: SessionInfo | null;
}

/** What the list shows of one that is being opened, and whose row it is. */
export interface Rows {
  sessions: SessionInfo[];
  placeholders: Placeholder[];
}

/** Show that a session is being opened. One that has a terminal here has its row already. `now`: wall milliseconds. */
export function placed(rows: Rows, action: SessionAction, now: number): Rows {
  const fresh = blank(action, now);
  const listed = rows.sessions.find((s) => sameConversation(s, fresh));
  if (listed !== undefined && listed.handle !== null) return rows;
  const known = rows.placeholders.find((p) => sameConversation(p.row, fresh));
  const before = known ? known.before : (listed ?? null);
  const row: SessionInfo = before ? { ...before, status: "starting" } : fresh;
  const placeholder: Placeholder = { permit: action.permit, fresh: action.mode === "new", row, before };
  return { sessions: shown(rows.sessions, row), placeholders: [...rows.placeholders, placeholder] };
}

/** The opening has ended: unless the session stands there by now, what stood there before does so again. */
export function unplaced(rows: Rows, permit: string): Rows {
  const ended = rows.placeholders.find((p) => p.permit === permit);
  if (ended === undefined) return rows;
  const placeholders = rows.placeholders.filter((p) => p !== ended);
  if (placeholders.some((p) => sameConversation(p.row, ended.row))) return { ...rows, placeholders };
  const sessions = rows.sessions.flatMap((s) => {
    if (!isStarting(s) || !sameConversation(s, ended.row)) return [s];
    return ended.before ? [ended.before] : [];
  });
  return { sessions, placeholders };
}

/** These rows, with those that are being opened. */
export function withPlaceholders(sessions: SessionInfo[], placeholders: Placeholder[]): SessionInfo[] {
  return placeholders.reduce((all, { row }) => shown(all, row), sessions);
}

/** Whether this row stands for a session that is not there yet. */
export function isStarting(session: SessionInfo): boolean {
  return session.handle === null && session.status === "starting";
}

/** Whether nothing may be asked of the host for this row: its id is a trigger's until the session is there. */
export function isReserved(placeholders: Placeholder[], session: SessionInfo): boolean {
  return isStarting(session) && placeholders.some((p) => p.fresh && sameConversation(p.row, session));
}

function shown(sessions: SessionInfo[], row: SessionInfo): SessionInfo[] {
  const listed = sessions.find((s) => sameConversation(s, row));
  if (listed === undefined) return [...sessions, row];
  return listed.handle !== null ? sessions : sessions.map((s) => (s === listed ? row : s));
}

function blank(action: SessionAction, now: number): SessionInfo {
  return {
    id: action.tab_key,
    state: "closed",
    cli: action.profile ?? "",
    status: "starting",
    handle: null,
    generation: 0,
    kind: "agent",
    name: action.name,
    title: null,
    project: action.project,
    cwd: action.cwd,
    pid: null,
    waiting_for: null,
    status_since: null,
    opened_at: now,
    modified_at: null,
    columns: 0,
    rows: 0,
    draft: false,
    attention: false,
    exit: null,
    opened_by: "trigger",
    sandbox: false,
    cli_version: null,
  };
}
