import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SILENT_MS, Socket } from "../src/socket";

class FakeWebSocket {
  static readonly OPEN = 1;
  static made: FakeWebSocket[] = [];
  readyState = 1;
  binaryType = "";
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

function connected(): { socket: Socket; links: string[]; wire: FakeWebSocket } {
  const links: string[] = [];
  const socket = new Socket({ link: (link) => links.push(link), message: () => undefined, output: () => undefined });
  void socket.start();
  const wire = FakeWebSocket.made[0] as FakeWebSocket;
  wire.onopen?.();
  wire.says({ type: "welcome" });
  return { socket, links, wire };
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
  const socket = new Socket({ link: (link) => links.push(link), message: () => undefined, output: () => undefined });
  void socket.start();
  vi.advanceTimersByTime(SILENT_MS + 1000);
  expect([links, FakeWebSocket.made.length]).toEqual([["offline"], 2]);
});
