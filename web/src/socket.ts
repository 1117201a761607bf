/** The connection to the host: opened, kept, watched by one timer, and opened again. */

import { retryDelay } from "./backoff";
import { ANSWER_MS, ASK_MS, Delivery } from "./delivery";
import { decodeOutput, encodeInput, type Output } from "./frames";
import { unfit } from "./limits";
import { PROTOCOL, type Done, type HostMessage, type Listing, type PageMessage, type Problem } from "./messages";
import type { Link } from "./state";
import { AWAY, type Closed, type Exchanged, exchange, hasKey, subprotocols, takeTicket, whyClosed } from "./ticket";

/** The host pings every 20 s; a connection that was silent for this long is dead, whatever the browser thinks. */
export const SILENT_MS = 35_000;

/** A timer that comes so much too late says that the page was held up, not the host. */
const HELD_UP_MS = 1000;

type WithoutRequest<T> = T extends { request: number } ? Omit<T, "request"> : never;
export type Wanted = WithoutRequest<PageMessage>;

export interface SocketEvents {
  link(link: Link, text: string): void;
  message(message: HostMessage): void;
  output(output: Output): void;
  /** A connection was lost before the host had confirmed what was typed last into these sessions. */
  untold(sessions: number[]): void;
}

export class Socket {
  private socket: WebSocket | null = null;
  private online = false;
  private attempt = 0;
  private timer: number | undefined;
  private watch: number | undefined;
  private requests = new Map<number, (answer: Done | Listing) => void>();
  private lastRequest = 0;
  private lastHeard = 0;
  private readonly delivery = new Delivery();
  /** Runs until the next question about what was typed, or until the answer is overdue. */
  private confirming: number | undefined;
  private ticket: string | null = takeTicket();
  /** Why the last ticket was not taken. */
  private notTaken = "";
  private refusal: Problem | null = null;
  private leaving = false;
  private starting = false;

  constructor(private readonly events: SocketEvents) {
    addEventListener("online", () => this.hurry());
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") this.hurry();
    });
    // A fresh address pasted into this tab changes only the fragment.
    addEventListener("hashchange", () => this.fresh());
    addEventListener("pagehide", () => this.leave());
    addEventListener("pageshow", (event) => {
      if (event.persisted) this.hurry();
    });
  }

  get connected(): boolean {
    return this.online;
  }

  async start(): Promise<void> {
    clearTimeout(this.timer);
    if (this.socket !== null || this.starting) return;
    this.leaving = false;
    if (this.ticket !== null) {
      this.starting = true;
      const { outcome, text } = await exchange(this.ticket);
      this.starting = false;
      if (outcome === "lost") return this.later(AWAY);
      this.ticket = null;
      this.notTaken = text;
    }
    if (!hasKey()) return this.events.link("signed-out", this.notTaken);
    if (this.attempt > 1) {
      // While the host is away, one plain question is less noise in the browser's console than a failed handshake.
      this.starting = true;
      const why = await whyClosed();
      this.starting = false;
      if (why.answer !== "there") return this.answered(why);
    }
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}/ws`, subprotocols());
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.refusal = null;
    // From now on, because a host that hangs lets connections begin and says nothing.
    this.lastHeard = Date.now();
    this.watchFor(SILENT_MS);
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.lastHeard = Date.now();
      this.send({ type: "hello", protocol: PROTOCOL, kind: "browser" });
    };
    socket.onmessage = (event) => {
      if (this.socket === socket) this.heard(event.data as string | ArrayBuffer);
    };
    socket.onclose = () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.lost();
      if (this.leaving) return;
      if (this.refusal?.kind === "passing") this.later(this.refusal.text);
      else if (this.refusal !== null) this.events.link("refused", this.refusal.text);
      else if (opened) this.later();
      else void this.explain();
    };
  }

  /** Say something; false when there is no connection, and then it was not said. */
  send(message: PageMessage): boolean {
    if (this.socket?.readyState !== WebSocket.OPEN) return false;
    this.socket.send(JSON.stringify(message));
    return true;
  }

  /**
   * Type into a session; false when there is no connection, and then nothing was typed. A terminal's `answer` to a
   * program is no person's, who would miss it.
   */
  type(session: number, data: Uint8Array, answer = false): boolean {
    if (!this.online || this.socket?.readyState !== WebSocket.OPEN) return false;
    for (const frame of encodeInput(session, data)) this.socket.send(frame);
    if (answer) return true;
    const first = !this.delivery.due && !this.delivery.open;
    this.delivery.typed(session);
    if (first) this.askSoon();
    return true;
  }

  private askSoon(): void {
    clearTimeout(this.confirming);
    this.confirming = setTimeout(() => {
      // Looked at first, because the question itself counts as waiting until this turn is over.
      const waiting = this.socket?.bufferedAmount ?? 0;
      this.send({ type: "confirm", number: this.delivery.ask() });
      this.expect(waiting, Date.now() + ANSWER_MS);
    }, ASK_MS);
  }

  /** An answer that does not come until then means that the connection is dead, though nobody has said so. */
  private expect(waiting: number, until: number): void {
    clearTimeout(this.confirming);
    this.confirming = setTimeout(() => {
      const now = Date.now();
      const left = this.socket?.bufferedAmount ?? 0;
      // A large paste may still be on its way; and where this page was held up, the answer may lie here already.
      if (left < waiting) return this.expect(left, now + ANSWER_MS);
      if (now > until + HELD_UP_MS) return this.expect(left, now + HELD_UP_MS);
      this.drop();
      this.later();
    }, until - Date.now());
  }

  /** Ask for something and wait for the answer; a lost connection answers too. */
  request(wanted: Wanted): Promise<Done | Listing> {
    const request = ++this.lastRequest;
    // The host would end the connection, and with it all other requests.
    const problem = unfit(wanted);
    if (problem !== null) return Promise.resolve(notDone(request, "does not fit", problem));
    return new Promise((resolve) => {
      this.requests.set(request, resolve);
      if (!this.online || !this.send({ ...wanted, request } as PageMessage)) {
        this.requests.delete(request);
        resolve(notDone(request, "not connected", "Nothing was asked of the host. Try again once it is connected."));
      }
    });
  }

  /** Try at once, if there is something to try. */
  hurry(): void {
    if (this.socket === null) {
      this.attempt = 0;
      void this.start();
    } else if (this.online && Date.now() - this.lastHeard > SILENT_MS) {
      this.drop();
      void this.start();
    }
  }

  /** Sign in with what a person pasted: a ticket or the standing credential. */
  async signIn(ticket: string): Promise<Exchanged["outcome"]> {
    const { outcome } = await exchange(ticket);
    if (outcome === "accepted" && !this.online) {
      this.drop();
      this.hurry();
    }
    return outcome;
  }

  /** One timer, which looks when the last message came; a message itself starts none. */
  private watchFor(wait: number): void {
    clearTimeout(this.watch);
    this.watch = setTimeout(() => {
      const left = this.lastHeard + SILENT_MS - Date.now();
      if (left > 0) return this.watchFor(left);
      this.drop();
      this.later();
    }, wait);
  }

  private fresh(): void {
    const ticket = takeTicket();
    if (ticket === null) return;
    this.ticket = ticket;
    if (!this.online) {
      this.drop();
      this.hurry();
    }
  }

  /**
   * The page goes: closed, reloaded, or kept by the browser to go back to; it is not told which. So it does not say
   * that it leaves for good, and the host expects it back for a while.
   */
  private leave(): void {
    this.leaving = true;
    this.drop();
  }

  private drop(): void {
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.lost();
  }

  private heard(data: string | ArrayBuffer): void {
    this.lastHeard = Date.now();
    if (typeof data !== "string") {
      const output = decodeOutput(data);
      if (output !== null) this.events.output(output);
      return;
    }
    const message = JSON.parse(data) as HostMessage;
    switch (message.type) {
      case "ping":
        this.send({ type: "pong", number: message.number });
        return;
      case "confirmed":
        this.delivery.confirmed(message.number);
        if (this.delivery.open) return;
        clearTimeout(this.confirming);
        if (this.delivery.due) this.askSoon();
        return;
      case "welcome":
        this.online = true;
        this.attempt = 0;
        this.events.message(message);
        this.events.link("online", "");
        return;
      case "problem":
        this.refusal = message;
        return;
      case "done":
      case "listing":
        this.events.message(message);
        this.requests.get(message.request)?.(message);
        this.requests.delete(message.request);
        return;
      default:
        this.events.message(message);
    }
  }

  private lost(): void {
    clearTimeout(this.watch);
    clearTimeout(this.confirming);
    this.online = false;
    const untold = this.delivery.lost();
    if (untold.length > 0 && !this.leaving) this.events.untold(untold);
    const open = [...this.requests];
    this.requests.clear();
    for (const [request, resolve] of open) {
      resolve(notDone(request, "not connected", "The connection was lost meanwhile; look whether it was done."));
    }
  }

  private async explain(): Promise<void> {
    const why = await whyClosed();
    if (this.socket === null) this.answered(why);
  }

  private answered(why: Closed): void {
    // Of a ticket that was just refused more is known than of the credential beside it.
    if (why.answer === "signed-out") this.events.link("signed-out", this.notTaken || why.text);
    else if (why.answer === "refused") this.events.link("refused", why.text);
    else this.later(why.text);
  }

  /** Try again after a while. `why`: what the host said, if it did. */
  private later(why = ""): void {
    this.events.link("offline", why);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.start(), retryDelay(this.attempt++, Math.random()));
  }
}

function notDone(request: number, reason: string, detail: string): Done {
  return { type: "done", request, ok: false, reason, detail, session: null };
}
