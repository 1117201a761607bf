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

/** Give the ticket to the host. `lost`: the host could not be reached, so the ticket may still be good. */
export async function exchange(ticket: string): Promise<"accepted" | "refused" | "lost"> {
  try {
    const answer = await fetch("/ticket", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ ticket }),
      credentials: "same-origin",
      cache: "no-store",
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    if (!answer.ok) return "refused";
    const granted = (await answer.json()) as { key: string };
    inMemory = granted.key;
    try {
      localStorage.setItem(KEY, granted.key);
    } catch {
      // Kept in memory; a reload will need a fresh address.
    }
    return "accepted";
  } catch {
    return "lost";
  }
}

/** What the host says of this browser's credential. */
export type Answer = "there" | "signed-out" | "refused" | "unreachable";

/** Why the WebSocket does not open, which a browser does not tell. */
export async function whyClosed(): Promise<Answer> {
  try {
    const headers = { "X-Switchboard-Key": key() ?? "" };
    const answer = await fetch("/check", { credentials: "same-origin", cache: "no-store", headers, signal: AbortSignal.timeout(ANSWER_MS) });
    if (answer.status === 401) return "signed-out";
    if (answer.status === 403 || answer.status === 421) return "refused";
    return answer.ok ? "there" : "unreachable";
  } catch {
    return "unreachable";
  }
}
