/**
 * The credential of this browser. The one-use ticket of an address (`#ticket=…`) is taken out of the address bar at
 * once and exchanged for a grant: a cookie, which scripts cannot read, and a key, which is kept here. Both are needed.
 */

const KEY = "switchboard-key";
const SUBPROTOCOL = "switchboard.1";

/** A host that has not answered a plain question after this long hangs. */
const ANSWER_MS = 15_000;

/** For browsers that refuse storage: the key then lasts as long as the page. */
let inMemory: string | null = null;

/** The ticket in an address fragment; null without one (pure). */
export function ticketIn(fragment: string): string | null {
  const value = new URLSearchParams(fragment.replace(/^#/, "")).get("ticket");
  return value ? value : null;
}

/** What to exchange of what a person pasted: an address, a ticket or a credential; null when there is nothing (pure). */
export function ticketFrom(pasted: string): string | null {
  const text = pasted.trim();
  const fragment = text.indexOf("#");
  return fragment < 0 ? text || null : ticketIn(text.slice(fragment));
}

/** Take the ticket out of the address bar and the history entry, and return it. */
export function takeTicket(): string | null {
  const ticket = ticketIn(location.hash);
  if (ticket !== null) history.replaceState(null, "", location.pathname + location.search);
  return ticket;
}

function key(): string | null {
  try {
    return localStorage.getItem(KEY) ?? inMemory;
  } catch {
    return inMemory;
  }
}

/** Whether there is anything to show to the host. */
export function hasKey(): boolean {
  return key() !== null;
}

/** What the WebSocket handshake names. */
export function subprotocols(): string[] {
  return [SUBPROTOCOL, `key.${key() ?? ""}`];
}

/** What the host said to a ticket, and why it did not take it, for people. `lost`: it was not reached. */
export interface Exchanged {
  outcome: "accepted" | "refused" | "lost";
  text: string;
}

/** Give the ticket to the host. `lost`: the host could not be reached, so the ticket may still be good. */
export async function exchange(ticket: string): Promise<Exchanged> {
  try {
    const answer = await fetch("/ticket", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ticket }),
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok) return { outcome: "refused", text: whyNoTicket(answer.status) };
    const granted = (await answer.json()) as { key: string };
    inMemory = granted.key;
    try {
      localStorage.setItem(KEY, granted.key);
    } catch {
      // Kept in memory; a reload will need a fresh address.
    }
    return { outcome: "accepted", text: "" };
  } catch {
    return { outcome: "lost", text: "" };
  }
}

/** Why a ticket was not taken, by the status of the answer (pure). */
export function whyNoTicket(status: number): string {
  if (status === 429) return "Too many wrong addresses were tried here. Wait a minute, then get a fresh one in a terminal:";
  if (status === 403 || status === 421) return "The host takes pages only under the addresses that it prints. Get one in a terminal:";
  return "The address that was opened here was used before, or is older than two minutes. Get a fresh one in a terminal:";
}

/** What the host says of this browser's credential. `busy`: nothing is wrong with it, and it is tried again. */
export type Answer = "there" | "signed-out" | "refused" | "busy" | "unreachable";

/** What is said while nobody answers at this address. */
export const AWAY = "no host is there; “switchboard up” starts one";

export interface Closed {
  answer: Answer;
  /** For people; empty where there is nothing to say. */
  text: string;
}

/** Why the WebSocket does not open, which a browser does not tell. */
export async function whyClosed(): Promise<Closed> {
  try {
    const headers = { "X-Switchboard-Key": key() ?? "" };
    const answer = await fetch("/check", { credentials: "same-origin", cache: "no-store", headers, signal: AbortSignal.timeout(ANSWER_MS) });
    return meaningOfCheck(answer.status);
  } catch (error) {
    const silent = error instanceof DOMException && error.name === "TimeoutError";
    return { answer: "unreachable", text: silent ? "the host does not answer" : AWAY };
  }
}

/** What the status of a `/check` says (pure). */
export function meaningOfCheck(status: number): Closed {
  switch (status) {
    case 401:
      return { answer: "signed-out", text: "The host that answers here does not know this browser: it is another one, or the sign-in is a month old or made room for newer ones. Get a fresh address in a terminal:" };
    case 403:
    case 421:
      return { answer: "refused", text: "The host takes pages only under the addresses that it prints, and this is none of them. “switchboard url” prints one." };
    case 429:
      return { answer: "busy", text: "too many pages are connected; close one" };
    case 503:
      return { answer: "busy", text: "the host is closing" };
    default:
      return status < 400 ? { answer: "there", text: "" } : { answer: "busy", text: `the host answers with status ${status}` };
  }
}
