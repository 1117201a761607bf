/** Everything the page knows, and how a message of the host changes it (pure). */

import { changed, goesOn, gone, inKnownOrder, type Key, keyOf, merged } from "./catalog";
import type { HostMessage, SessionAction, SessionInfo } from "./messages";
import { type Placeholder, placed, type Rows, unplaced, withPlaceholders } from "./placeholders";
import { type Trigger, withStep } from "./triggers";

/**
 * `connecting`: no connection yet, or a try is under way; `online`; `offline`: the host cannot be reached, and it is
 * tried again; `signed-out`: this browser has no valid credential; `refused`: the host said why it does not talk to us.
 */
export type Link = "connecting" | "online" | "offline" | "signed-out" | "refused";

export interface State {
  link: Link;
  /** Why the link is not online, for people. */
  linkText: string;
  version: string;
  hostPid: number | null;
  renderer: boolean;
  /** Whether the host's list has come at least once. */
  listed: boolean;
  sessions: SessionInfo[];
  /** Of those, the ones that a trigger is having opened. */
  placeholders: Placeholder[];
  triggers: Trigger[];
  /** Trigger results that came while the drawer was closed. */
  unseen: number;
  selected: Key | null;
  /** The conversation that is being opened, by its id. */
  opening: string | null;
  /** Why the last opening of a conversation failed. */
  problem: Problem | null;
}

/** A refusal of the host, and the conversation it concerns. */
export interface Problem {
  id: string;
  reason: string;
  detail: string;
}

export const INITIAL: State = {
  link: "connecting",
  linkText: "",
  version: "",
  hostPid: null,
  renderer: false,
  listed: false,
  sessions: [],
  placeholders: [],
  triggers: [],
  unseen: 0,
  selected: null,
  opening: null,
  problem: null,
};

export type Event =
  | { type: "link"; link: Link; text: string }
  | { type: "host"; message: HostMessage }
  | { type: "listing"; sessions: SessionInfo[] }
  | { type: "select"; key: Key | null }
  | { type: "opening"; id: string }
  | { type: "opened"; problem: Problem | null }
  | { type: "placed"; action: SessionAction; now: number }
  | { type: "unplaced"; permit: string }
  | { type: "seen" };

export function reduce(state: State, event: Event): State {
  switch (event.type) {
    case "link":
      return { ...state, link: event.link, linkText: event.text, renderer: event.link === "online" && state.renderer };
    case "host":
      return received(state, event.message);
    case "listing":
      return withSessions(state, withPlaceholders(inKnownOrder(state.sessions, merged(event.sessions)), state.placeholders));
    case "select":
      return state.selected === event.key ? state : { ...state, selected: event.key };
    case "opening":
      return { ...state, opening: event.id, problem: null };
    case "opened":
      return { ...state, opening: null, problem: event.problem };
    case "placed":
      return withRows(state, placed(state, event.action, event.now));
    case "unplaced":
      return withRows(state, unplaced(state, event.permit));
    case "seen":
      return state.unseen === 0 ? state : { ...state, unseen: 0 };
  }
}

function received(state: State, message: HostMessage): State {
  switch (message.type) {
    case "welcome":
      return { ...state, version: message.version, hostPid: message.pid };
    case "role":
      return { ...state, renderer: message.renderer };
    case "sessions":
      return { ...withSessions(state, inKnownOrder(state.sessions, merged(message.sessions))), placeholders: [], listed: true };
    case "session":
      return withSessions(state, changed(state.sessions, message.session));
    case "gone":
      return withSessions(state, gone(state.sessions, message.session));
    case "done":
      return message.session ? withSessions(state, changed(state.sessions, message.session)) : state;
    case "trigger": {
      const triggers = withStep(state.triggers, message);
      if (triggers === state.triggers) return state;
      return { ...state, triggers, unseen: state.unseen + (message.step === "done" ? 1 : 0) };
    }
    default:
      return state;
  }
}

/**
 * A selection follows its conversation: from closed to its terminal, from one that has ended to the one in which it runs
 * again, and back when the terminal has gone.
 */
function withSessions(state: State, sessions: SessionInfo[]): State {
  const before = selectedSession(state) ?? sessions.find((s) => keyOf(s) === state.selected);
  const now = before && goesOn(before, sessions);
  return { ...state, sessions, selected: now ? keyOf(now) : null };
}

function withRows(state: State, rows: Rows): State {
  return rows === state ? state : { ...withSessions(state, rows.sessions), placeholders: rows.placeholders };
}

export function selectedSession(state: State): SessionInfo | null {
  return state.sessions.find((s) => keyOf(s) === state.selected) ?? null;
}

export interface Counts {
  running: number;
  busy: number;
  waiting: number;
}

export function counts(sessions: SessionInfo[]): Counts {
  const open = sessions.filter((s) => s.state === "open");
  return {
    running: open.length,
    busy: open.filter((s) => s.status === "busy").length,
    waiting: open.filter((s) => s.status === "waiting").length,
  };
}
