import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ANSWER_MS, ASK_MS } from "../src/delivery";
import { SILENT_MS, Socket } from "../src/socket";

class FakeWebSocket {
  static readonly OPEN = 1;
  static made: FakeWebSocket[] = [];
  readyState = 1;
  binaryType = "";
  bufferedAmount = 0;
  sent: unknown[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: (() => void) | null = null;
  constructor() {
    FakeWebSocket.made.push(this);
  }
  send(data: unknown): void {
    this.sent.push(data);
    // As in browsers: what is sent counts as waiting until the turn is over.
    const size = typeof data === "string" ? data.length : (data as Uint8Array).length;
    this.bufferedAmount += size;
    setTimeout(() => (this.bufferedAmount = Math.max(0, this.bufferedAmount - size)));
  }
  /** The numbers of the questions whether keys were taken. */
  get questions(): number[] {
    return this.sent.flatMap((data) => (typeof data === "string" ? [JSON.parse(data)] : [])).filter((m) => m.type === "confirm").map((m) => m.number);
  }
  close(): void {
    this.closed = true;
  }
  says(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  FakeWebSocket.made = [];
  vi.stubGlobal("WebSocket", FakeWebSocket);
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("document", { addEventListener: () => undefined, visibilityState: "visible" });
  vi.stubGlobal("location", { hash: "", protocol: "http:", host: "127.0.0.1:1", pathname: "/", search: "" });
  vi.stubGlobal("localStorage", { getItem: () => "k" });
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const nothing = { link: () => undefined, message: () => undefined, output: () => undefined, untold: () => undefined };

function connected(): { socket: Socket; links: string[]; untold: number[][]; wire: FakeWebSocket } {
  const links: string[] = [];
  const untold: number[][] = [];
  const socket = new Socket({ ...nothing, link: (link) => links.push(link), untold: (sessions) => untold.push(sessions) });
  void socket.start();
  const wire = FakeWebSocket.made[0] as FakeWebSocket;
  wire.onopen?.();
  wire.says({ type: "welcome" });
  return { socket, links, untold, wire };
}

const key = new Uint8Array([65]);

test("a connection that goes silent is given up, takes no keys, and is opened anew", () => {
  const { socket, links, wire } = connected();
  expect(links).toEqual(["online"]);
  vi.advanceTimersByTime(SILENT_MS - 1);
  expect([socket.type(1, key), wire.closed]).toEqual([true, false]);
  vi.advanceTimersByTime(1);
  expect([socket.type(1, key), wire.closed, links]).toEqual([false, true, ["online", "offline"]]);
  vi.advanceTimersByTime(1000);
  expect(FakeWebSocket.made.length).toBe(2);
  // What the old connection says now is not for anybody.
  wire.says({ type: "welcome" });
  expect(socket.connected).toBe(false);
});

test("pings keep it, with one timer for all of them", () => {
  const { socket, links, wire } = connected();
  for (let n = 0; n < 20; n++) {
    vi.advanceTimersByTime(20_000);
    wire.says({ type: "ping", number: n });
    vi.advanceTimersByTime(0);
    expect(vi.getTimerCount()).toBe(1);
  }
  expect([socket.connected, links]).toEqual([true, ["online"]]);
  vi.advanceTimersByTime(SILENT_MS);
  expect(links).toEqual(["online", "offline"]);
});

test("requests that are open when it goes silent are answered", async () => {
  const { socket } = connected();
  const answer = socket.request({ type: "list", closed: 50 });
  vi.advanceTimersByTime(SILENT_MS);
  expect(await answer).toMatchObject({ ok: false, reason: "not connected" });
});

test("a host that lets a connection begin and then hangs is asked again", () => {
  const links: string[] = [];
  const socket = new Socket({ ...nothing, link: (link) => links.push(link) });
  void socket.start();
  vi.advanceTimersByTime(SILENT_MS + 1000);
  expect([links, FakeWebSocket.made.length]).toEqual([["offline"], 2]);
});

// --- keys that may not have arrived ---

test("the host is asked once about many keys, and about later ones again", () => {
  const { socket, untold, wire } = connected();
  for (let n = 0; n < 20; n++) socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  expect(wire.questions).toEqual([1]);
  socket.type(2, key);
  vi.advanceTimersByTime(ASK_MS * 2);
  expect(wire.questions).toEqual([1]);
  wire.says({ type: "confirmed", number: 1 });
  vi.advanceTimersByTime(ASK_MS);
  expect(wire.questions).toEqual([1, 2]);
  wire.says({ type: "confirmed", number: 2 });
  vi.advanceTimersByTime(SILENT_MS - 5 * ASK_MS);
  expect([wire.questions, untold, socket.connected]).toEqual([[1, 2], [], true]);
  wire.onclose?.();
  expect(untold).toEqual([]);
});

test("keys that the host does not confirm make the connection a dead one long before it was silent long enough", () => {
  const { socket, links, untold, wire } = connected();
  socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  socket.type(2, key);
  vi.advanceTimersByTime(ANSWER_MS - 1);
  expect([untold, wire.closed]).toEqual([[], false]);
  vi.advanceTimersByTime(1);
  expect([untold, wire.closed, links, socket.type(1, key)]).toEqual([[[1, 2]], true, ["online", "offline"], false]);
  vi.advanceTimersByTime(SILENT_MS * 3);
  expect(untold).toEqual([[1, 2]]);
});

test("keys of which nobody knows when the connection ends are told of, confirmed ones and answers of terminals are not", () => {
  const { socket, untold, wire } = connected();
  socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  wire.says({ type: "confirmed", number: 1 });
  socket.type(2, key);
  socket.type(3, key, true);
  wire.onclose?.();
  expect(untold).toEqual([[2]]);
});

test("an answer to an earlier connection's question confirms nothing", () => {
  const { socket, untold, wire } = connected();
  socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  wire.says({ type: "confirmed", number: 7 });
  wire.onclose?.();
  expect(untold).toEqual([[1]]);
});

test("a large paste is waited for while it is on its way", () => {
  const { socket, untold, wire } = connected();
  wire.bufferedAmount = 3_000_000;
  socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  for (const left of [2_000_000, 1_000_000, 0]) {
    wire.says({ type: "ping", number: 1 });
    wire.bufferedAmount = left;
    vi.advanceTimersByTime(ANSWER_MS);
    expect([untold, socket.connected]).toEqual([[], true]);
  }
  wire.says({ type: "confirmed", number: 1 });
  vi.advanceTimersByTime(ANSWER_MS);
  expect([untold, socket.connected]).toEqual([[], true]);
});

test("a page that was held up looks at what has come before it gives up", () => {
  const { socket, untold, wire } = connected();
  socket.type(1, key);
  vi.advanceTimersByTime(ASK_MS);
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(ANSWER_MS);
  expect([untold, wire.closed]).toEqual([[], false]);
  wire.says({ type: "confirmed", number: 1 });
  vi.advanceTimersByTime(ANSWER_MS);
  expect([untold, socket.connected]).toEqual([[], true]);
});

// --- a page that goes ---

test("a page that goes says nothing of why, because it may be loaded anew, and comes back from the browser's cache", () => {
  const listeners = new Map<string, (event: object) => void>();
  vi.stubGlobal("addEventListener", (type: string, listener: (event: object) => void) => void listeners.set(type, listener));
  const { untold, links, wire, socket } = connected();
  socket.type(1, key);
  const before = wire.sent.length;
  listeners.get("pagehide")?.({ persisted: true });
  expect([wire.sent.length, wire.closed, untold, links]).toEqual([before, true, [], ["online"]]);
  listeners.get("pageshow")?.({ persisted: true });
  expect(FakeWebSocket.made.length).toBe(2);
});

// --- what the host refuses ---

test.each([
  ["passing", "offline", 2],
  ["final", "refused", 1],
  [undefined, "refused", 1],
])("a problem of kind %s makes the page %s", (kind, last, connections) => {
  const links: [string, string][] = [];
  const socket = new Socket({ ...nothing, link: (link, text) => links.push([link, text]) });
  void socket.start();
  const wire = FakeWebSocket.made[0] as FakeWebSocket;
  wire.onopen?.();
  wire.says({ type: "problem", text: "why", kind });
  wire.onclose?.();
  expect(links).toEqual([[last, "why"]]);
  vi.advanceTimersByTime(1000);
  expect(FakeWebSocket.made.length).toBe(connections);
});

test("too many requests at once end the connection for a moment only", () => {
  const { links, wire } = connected();
  wire.says({ type: "problem", text: "more than 16 requests are open", kind: "passing" });
  wire.onclose?.();
  expect(links).toEqual(["online", "offline"]);
  vi.advanceTimersByTime(1000);
  expect(FakeWebSocket.made.length).toBe(2);
});

test("a request that the host could not take is answered here and never sent", async () => {
  const { socket, wire } = connected();
  const before = wire.sent.length;
  const answer = await socket.request({ type: "rename", session: 1, name: "x".repeat(257) });
  expect(answer).toMatchObject({ ok: false, reason: "does not fit", detail: "The name has 257 characters; it may have 256." });
  expect(wire.sent.length).toBe(before);
});
