/**
 * Sessions that the host wants this page to have for a trigger: opened as a click would open them, and nothing else.
 * Nothing here selects, focuses, scrolls, shows or says anything; the activity list tells of the trigger.
 *
 * An action belongs to the connection it came on. When that is lost it is forgotten, whatever is still on its way, and
 * nothing is answered. Its deadline is the host's: this browser's clock may be another machine's, and wrong. The host
 * answers an `open` no later than that, and starts nothing afterwards.
 */

import { sameConversation } from "./catalog";
import type { Done, HostMessage, Listing, PageMessage, SessionAction, SessionActionResult, SessionInfo } from "./messages";
import type { Wanted } from "./socket";
import type { Store } from "./store";

/** Longest text that the host takes. */
const LONGEST = 4096;

export type Hosted = SessionInfo & { handle: number };

/** What of the page an action needs. */
export interface Around {
  store: Store;
  send(message: PageMessage): boolean;
  request(wanted: Wanted): Promise<Done | Listing>;
  /** Make and attach the terminal of an open session, out of sight. */
  prepare(session: Hosted): void;
  /** Whether this page has the terminal with this handle. */
  has(handle: number): boolean;
  /** The size that a terminal opened now would have. */
  room(): { columns?: number; rows?: number };
}

interface Failure {
  reason: string;
  error: string | null;
}

type Outcome = Hosted | Failure;

export class SessionActions {
  private epoch: string | null = null;
  /** Permits of this connection: each is acted on once. */
  private readonly known = new Set<string>();

  constructor(private readonly around: Around) {}

  /** A message of the host, once the list has taken it. */
  received(message: HostMessage): void {
    if (message.type === "welcome") {
      this.lost();
      this.epoch = message.epoch;
    } else if (message.type === "session_action") {
      void this.act(message);
    }
  }

  /** The connection is gone, and every action with it. */
  lost(): void {
    this.epoch = null;
    this.known.clear();
  }

  private async act(action: SessionAction): Promise<void> {
    if (action.epoch !== this.epoch || this.known.has(action.permit)) return;
    this.known.add(action.permit);
    let outcome: Outcome;
    try {
      outcome = action.mode === "reattach" ? await this.reattach(action) : await this.open(action);
    } catch (error) {
      outcome = { reason: "the page failed", error: String(error) };
    } finally {
      this.around.store.dispatch({ type: "unplaced", permit: action.permit });
    }
    if (action.epoch === this.epoch) this.around.send(answer(action, outcome));
  }

  /** The session is open already: have its row and terminal. Starts nothing, whatever has become of it. */
  private async reattach(action: SessionAction): Promise<Outcome> {
    const { tab_key, generation } = action;
    if (generation === null) return { reason: "the host did not say which terminal", error: null };
    if (this.find(tab_key, generation) === undefined) {
      const answer = await this.around.request({ type: "list", closed: 0 });
      const listed = answer.type === "listing" ? answer.sessions.find((s) => is(s, tab_key, generation)) : undefined;
      if (listed !== undefined && action.epoch === this.epoch) {
        this.around.store.dispatch({ type: "host", message: { type: "session", session: listed } });
      }
    }
    return this.take(action, generation);
  }

  private async open(action: SessionAction): Promise<Outcome> {
    const { mode, permit, tab_key, profile } = action;
    if (mode === "reattach") throw new Error("nothing may be opened");
    this.around.store.dispatch({ type: "placed", action, now: Date.now() });
    const wanted: Wanted = { type: "open", mode, session_id: tab_key, permit, ...this.around.room() };
    const answer = (await this.around.request(profile === null ? wanted : { ...wanted, profile })) as Done;
    if (!answer.ok || answer.session === null) {
      return { reason: answer.reason ?? "the host opened nothing", error: answer.detail };
    }
    const outcome = await this.take(action, answer.session.generation);
    if ("handle" in outcome) this.clear(outcome);
    return outcome;
  }

  /** The terminal of an open session, which must stand in the list under that id and generation. */
  private async take(action: SessionAction, generation: number): Promise<Outcome> {
    if (action.epoch !== this.epoch) return { reason: "not connected", error: null };
    const session = this.find(action.tab_key, generation);
    if (session !== undefined) this.around.prepare(session);
    // The views draw in this turn's microtask: the row, and in the grid the card.
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    const there = this.find(action.tab_key, generation);
    if (there === undefined || !this.around.has(there.handle)) {
      return { reason: "the session is not there", error: "it has ended, or another one has its place" };
    }
    return there;
  }

  /** The conversation's ended terminal has served, as after a click. Who looked at it is with the new one by now. */
  private clear(session: Hosted): void {
    for (const old of this.around.store.state.sessions) {
      if (old.state !== "exited" || old.handle === null || !sameConversation(old, session)) continue;
      void this.around.request({ type: "stop", session: old.handle });
    }
  }

  private find(id: string, generation: number): Hosted | undefined {
    return this.around.store.state.sessions.find((s): s is Hosted => is(s, id, generation));
  }
}

function is(session: SessionInfo, id: string, generation: number): boolean {
  const same = session.id.toLowerCase() === id.toLowerCase() && session.generation === generation;
  return same && session.state === "open" && session.handle !== null;
}

function answer(action: SessionAction, outcome: Outcome): SessionActionResult {
  const { permit, epoch, mode, requested_id, tab_key } = action;
  const asked = { type: "session_action_result", permit, epoch, mode, requested_id, tab_key } as const;
  if ("handle" in outcome) return { ...asked, ok: true, generation: outcome.generation };
  return { ...asked, ok: false, generation: null, reason: short(outcome.reason), error: short(outcome.error) };
}

/** A text as the host takes it: not longer than it allows, and no half of a character at its end. */
function short(text: string | null): string | null {
  return text === null ? null : text.slice(0, LONGEST).replace(/[\ud800-\udbff]$/, "");
}
