import { expect, test } from "vitest";
import { counts, INITIAL, reduce, type State } from "../src/state";
import { session } from "./session";

const host = (state: State, message: Extract<Parameters<typeof reduce>[1], { type: "host" }>["message"]) => reduce(state, { type: "host", message });
const listed = (...sessions: ReturnType<typeof session>[]) => host(INITIAL, { type: "sessions", sessions });

test("the selection follows its conversation from closed to its terminal and back", () => {
  let state = listed(session({ id: "a", handle: null, state: "closed" }));
  state = reduce(state, { type: "select", key: "ia" });
  state = host(state, { type: "session", session: session({ id: "A", handle: 7 }) });
  expect(state.selected).toBe("h7");
  state = host(state, { type: "gone", session: 7 });
  expect(state.selected).toBe("ia");
});

test("the selection follows a conversation that has ended to the terminal in which it runs again", () => {
  let state = reduce(listed(session({ id: "a", handle: 1 }), session({ id: "b", handle: 2 })), { type: "select", key: "h1" });
  state = host(state, { type: "session", session: session({ id: "a", handle: 1, state: "exited" }) });
  expect(state.selected).toBe("h1");
  state = host(state, { type: "session", session: session({ id: "A", handle: 7 }) });
  expect(state.selected).toBe("h7");
  expect(host(state, { type: "gone", session: 1 }).selected).toBe("h7");
  const other = host(reduce(state, { type: "select", key: "h2" }), { type: "session", session: session({ id: "a", handle: 9 }) });
  expect(other.selected).toBe("h2");
});

test("a trigger's or another page's new session never changes the selection", () => {
  const state = reduce(listed(session({ id: "a", handle: 1 })), { type: "select", key: "h1" });
  expect(host(state, { type: "session", session: session({ id: "b", handle: 2 }) }).selected).toBe("h1");
});

test("a list that does not know the selected session leaves nothing selected", () => {
  const state = reduce(listed(session({ id: "a", handle: 1 })), { type: "select", key: "h1" });
  expect(host(state, { type: "sessions", sessions: [] }).selected).toBeNull();
});

test("a lost connection gives up the renderer role and keeps the list", () => {
  let state = host(listed(session()), { type: "role", renderer: true });
  state = reduce(state, { type: "link", link: "offline", text: "" });
  expect([state.renderer, state.sessions.length, state.listed]).toEqual([false, 1, true]);
});

test("only results count as unseen, each once", () => {
  const step = (at: number, step: "received" | "done") =>
    ({ type: "trigger", name: "t", at, step, action: "command", session_id: "a", ok: true, submitted: "confirmed", error: null, reason: null, outcome: null, uncertain: false, detail: null, target: null }) as const;
  let state = host(host(INITIAL, step(1, "received")), step(2, "done"));
  expect(state.unseen).toBe(1);
  state = host(state, step(2, "done")); // told again after a reconnect
  expect(state.unseen).toBe(1);
  expect(reduce(state, { type: "seen" }).unseen).toBe(0);
});

test("a refused opening is kept with its reason until the next try", () => {
  const refused = reduce(reduce(INITIAL, { type: "opening", id: "a" }), { type: "opened", problem: { id: "a", reason: "r", detail: "d" } });
  expect([refused.opening, refused.problem?.reason]).toEqual([null, "r"]);
  expect(reduce(refused, { type: "opening", id: "a" }).problem).toBeNull();
});

test("counts leave ended sessions out", () => {
  expect(counts([session({ status: "busy" }), session({ status: "waiting" }), session({ state: "exited", status: "waiting" })])).toEqual({ running: 2, busy: 1, waiting: 1 });
});
