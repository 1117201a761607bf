import { expect, test } from "vitest";
import { keyOf } from "../src/catalog";
import type { SessionAction, SessionInfo } from "../src/messages";
import { isReserved, isStarting } from "../src/placeholders";
import { INITIAL, reduce, type State } from "../src/state";
import { session } from "./session";

const action = (fields: Partial<SessionAction> = {}): SessionAction => ({
  type: "session_action", permit: "p", epoch: "e", mode: "resume", requested_id: "a", tab_key: "a", generation: null, deadline: 9,
  profile: "claude", project: "/p/shop", cwd: "/p/shop/api", name: null, ...fields,
});
const closed = (id: string, fields: Partial<SessionInfo> = {}) => session({ id, state: "closed", status: "closed", handle: null, generation: 0, ...fields });
const listed = (...sessions: SessionInfo[]) => reduce(INITIAL, { type: "host", message: { type: "sessions", sessions } });
const place = (state: State, fields: Partial<SessionAction> = {}) => reduce(state, { type: "placed", action: action(fields), now: 5 });
const unplace = (state: State, permit = "p") => reduce(state, { type: "unplaced", permit });
const rows = (state: State) => state.sessions.map((s) => `${keyOf(s)} ${s.status}`);

test("a session that nobody has listed gets a row, which goes when nothing came of it", () => {
  const before = listed(session({ id: "b" }));
  const state = place(before, { mode: "new", requested_id: null, name: "Follow-up" });
  expect(rows(state)).toEqual(["h1 idle", "ia starting"]);
  expect(state.sessions[1]).toMatchObject({ name: "Follow-up", project: "/p/shop", cwd: "/p/shop/api", cli: "claude", opened_by: "trigger" });
  expect(rows(unplace(state))).toEqual(["h1 idle"]);
});

test("a closed conversation says that it is starting where it stands, and is closed again after a refusal", () => {
  const before = listed(closed("A", { name: "Mine", modified_at: 3 }), session({ id: "b" }));
  const state = place(before);
  expect(rows(state)).toEqual(["ia starting", "h1 idle"]);
  expect(state.sessions[0]?.name).toBe("Mine");
  expect(unplace(state).sessions).toEqual(before.sessions);
});

test("the session takes the row's place, and stays when the opening is over", () => {
  let state = place(listed(closed("a"), session({ id: "b" })));
  state = reduce(state, { type: "host", message: { type: "session", session: session({ id: "a", handle: 7 }) } });
  expect(rows(state)).toEqual(["h7 idle", "h1 idle"]);
  expect([rows(unplace(state)), unplace(state).placeholders]).toEqual([["h7 idle", "h1 idle"], []]);
});

test.each([["open", "idle"], ["exited", "exited"]] as const)("a conversation with a terminal (%s) needs no row", (is, status) => {
  const before = listed(session({ id: "A", state: is, status }));
  expect([place(before), unplace(before)]).toEqual([before, before]);
});

test("it survives a fresh listing, not a new connection", () => {
  const state = place(listed(session({ id: "b" })));
  expect(rows(reduce(state, { type: "listing", sessions: [session({ id: "b" })] }))).toEqual(["h1 idle", "ia starting"]);
  const again = reduce(state, { type: "host", message: { type: "sessions", sessions: [session({ id: "b" })] } });
  expect([rows(again), again.placeholders]).toEqual([["h1 idle"], []]);
});

test("two openings of one conversation have one row, until both are over", () => {
  const before = listed(closed("a"));
  const state = place(place(before), { permit: "q" });
  expect(rows(state)).toEqual(["ia starting"]);
  expect(rows(unplace(state))).toEqual(["ia starting"]);
  expect(unplace(unplace(state), "q").sessions).toEqual(before.sessions);
});

test("a person who chose the row goes with it: to the session, or nowhere", () => {
  const state = reduce(place(listed()), { type: "select", key: "ia" });
  expect(reduce(state, { type: "host", message: { type: "session", session: session({ id: "a", handle: 7 }) } }).selected).toBe("h7");
  expect(unplace(state).selected).toBeNull();
});

test("placing and removing leave the selection of others alone", () => {
  const state = reduce(listed(session({ id: "b" }), closed("a")), { type: "select", key: "h1" });
  expect([place(state).selected, unplace(place(state)).selected]).toEqual(["h1", "h1"]);
});

test("a reserved id is nobody's to resume; a closed conversation is", () => {
  const fresh = place(listed(), { mode: "new" });
  const old = place(listed(closed("a")));
  expect([fresh, old].map((s) => isReserved(s.placeholders, s.sessions[0] as SessionInfo))).toEqual([true, false]);
  expect([session({ status: "starting" }), closed("a")].map(isStarting)).toEqual([false, false]);
});
