/** The connection to the host: opened, kept, watched by one timer, and opened again. */

import { retryDelay } from "./backoff";
import { decodeOutput, encodeInput, type Output } from "./frames";
import { PROTOCOL, type Done, type HostMessage, type Listing, type PageMessage } from "./messages";
import type { Link } from "./state";
import { type Answer, exchange, hasKey, subprotocols, takeTicket, whyClosed } from "./ticket";

/** The host pings every 20 s; a connection that was silent for this long is dead, whatever the browser thinks. */
export const SILENT_MS = 35_000;

type WithoutRequest<T> = T extends { request: number } ? Omit<T, "request"> : never;
export type Wanted = WithoutRequest<PageMessage>;

export interface SocketEvents {
  link(link: Link, text: string): void;
  message(message: HostMessage): void;
  output(output: Output): void;
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
  private ticket: string | null = takeTicket();
  private refusal: string | null = null;
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
      const outcome = await exchange(this.ticket);
      this.starting = false;
      if (outcome === "lost") return this.later();
      this.ticket = null;
    }
    if (!hasKey()) return this.events.link("signed-out", "");
    if (this.attempt > 1) {
      // While the host is away, one plain question is less noise in the browser's console than a failed handshake.
      this.starting = true;
      const why = await whyClosed();
      this.starting = false;
      if (why !== "there") return this.answered(why);
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
      if (this.refusal !== null) this.events.link("refused", this.refusal);
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

  /** Type into a session; false when there is no connection, and then nothing was typed. */
  type(session: number, data: Uint8Array): boolean {
    if (!this.online || this.socket?.readyState !== WebSocket.OPEN) return false;
    for (const frame of encodeInput(session, data)) this.socket.send(frame);
    return true;
  }

  /** Ask for something and wait for the answer; a lost connection answers too. */
  request(wanted: Wanted): Promise<Done | Listing> {
    const request = ++this.lastRequest;
    return new Promise((resolve) => {
      this.requests.set(request, resolve);
      if (!this.online || !this.send({ ...wanted, request } as PageMessage)) {
        this.requests.delete(request);
        resolve(notConnected(request, "Nothing was asked of the host. Try again once it is connected."));
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
  async signIn(ticket: string): Promise<"accepted" | "refused" | "lost"> {
    const outcome = await exchange(ticket);
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

  private leave(): void {
    this.leaving = true;
    this.send({ type: "bye" });
    this.socket?.close();
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
      case "welcome":
        this.online = true;
        this.attempt = 0;
        this.events.message(message);
        this.events.link("online", "");
        return;
      case "problem":
        this.refusal = message.text;
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
    this.online = false;
    const open = [...this.requests];
    this.requests.clear();
    for (const [request, resolve] of open) {
      resolve(notConnected(request, "The connection was lost meanwhile; look whether it was done."));
    }
  }

  private async explain(): Promise<void> {
    const why = await whyClosed();
    if (this.socket === null) this.answered(why);
  }

  private answered(why: Answer): void {
    if (why === "signed-out") this.events.link("signed-out", "");
    else if (why === "refused") this.events.link("refused", "The host does not accept this page's address.");
    else this.later();
  }

  private later(): void {
    this.events.link("offline", "");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.start(), retryDelay(this.attempt++, Math.random()));
  }
}

function notConnected(request: number, detail: string): Done {
  return { type: "done", request, ok: false, reason: "not connected", detail, session: null };
}
