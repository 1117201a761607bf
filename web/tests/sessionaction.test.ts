import { beforeEach, expect, test } from "vitest";
import { keyOf } from "../src/catalog";
import type { Done, HostMessage, Listing, PageMessage, SessionAction, SessionInfo } from "../src/messages";
import { type Hosted, SessionActions } from "../src/sessionaction";
import type { Wanted } from "../src/socket";
import { Store } from "../src/store";
import { session } from "./session";

const ID = "0d6f3a52-0000-4000-8000-00000000000a";
const EARLIER = "0d6f3a52-0000-4000-8000-00000000000b";

/** A page without a document: what it asked the host, what it answered, which terminals it made. */
class Page {
  readonly store = new Store();
  readonly asked: { wanted: Wanted; answer: (answer: Done | Listing) => void }[] = [];
  readonly said: PageMessage[] = [];
  readonly terminals: Hosted[] = [];
  readonly drawn: string[][] = [];
  broken: Error | null = null;
  blank = false;
  readonly actions = new SessionActions({
    store: this.store,
    send: (message) => this.said.push(message) > 0,
    request: (wanted) => new Promise((answer) => this.asked.push({ wanted, answer })),
    prepare: (made) => {
      if (this.broken) throw this.broken;
      this.terminals.push(made);
    },
    has: (handle) => !this.blank && this.terminals.some((made) => made.handle === handle),
    room: () => ({ columns: 111, rows: 33 }),
  });

  constructor(...sessions: SessionInfo[]) {
    this.hears({ type: "welcome", protocol: 1, version: "", epoch: "e", pid: 1 });
    this.hears({ type: "sessions", sessions });
    this.store.subscribe((state) => this.drawn.push(state.sessions.map(keyOf)));
  }

  hears(message: HostMessage): void {
    this.store.dispatch({ type: "host", message });
    this.actions.received(message);
  }

  /** The host's answer to what was asked last, as the connection gives it on. */
  async answers(fields: Partial<Done>, place = -1): Promise<void> {
    const message: Done = { type: "done", request: 1, ok: true, reason: null, detail: null, session: null, ...fields };
    this.store.dispatch({ type: "host", message });
    this.asked.at(place)?.answer(message);
    await settled();
  }

  get rows(): string[] {
    return this.store.state.sessions.map((s) => `${keyOf(s)} ${s.status}`);
  }
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

const action = (fields: Partial<SessionAction> = {}): SessionAction => ({
  type: "session_action", permit: "p", epoch: "e", mode: "resume", requested_id: ID, tab_key: ID, generation: null,
  deadline: Date.now() + 60_000, profile: "claude", project: "/w", cwd: "/w", name: null, ...fields,
});
const reattach = (fields: Partial<SessionAction> = {}) => action({ mode: "reattach", requested_id: EARLIER, generation: 4, profile: null, ...fields });
const other = session({ id: "other", handle: 1 });
const opened = session({ id: ID, handle: 9, generation: 4, opened_by: "trigger" });
const closed = session({ id: ID, state: "closed", status: "closed", handle: null, generation: 0 });
const answered = (fields: object) => ({ type: "session_action_result", permit: "p", epoch: "e", ...fields });

let page: Page;
beforeEach(() => {
  page = new Page(other, closed);
  page.store.dispatch({ type: "select", key: "h1" });
});

// --- resume and new ---

test("a resume: the row starts, the permit is used once, and the session has its row and terminal before it is confirmed", async () => {
  page.hears(action());
  expect(page.rows).toEqual(["h1 idle", `i${ID} starting`]);
  expect(page.asked.map((a) => a.wanted)).toEqual([{ type: "open", mode: "resume", session_id: ID, permit: "p", profile: "claude", columns: 111, rows: 33 }]);
  expect([page.said, page.terminals]).toEqual([[], []]);
  await page.answers({ session: opened });
  expect(page.said).toEqual([answered({ mode: "resume", ok: true, requested_id: ID, tab_key: ID, generation: 4 })]);
  expect([page.rows, page.terminals]).toEqual([["h1 idle", "h9 idle"], [opened]]);
  expect(page.drawn.at(-1)).toEqual(["h1", "h9"]);
});

test("a new session: the same under the reserved id, named from the beginning", async () => {
  page = new Page(other);
  page.hears(action({ mode: "new", requested_id: null, name: "Follow-up" }));
  expect(page.store.state.sessions[1]).toMatchObject({ id: ID, name: "Follow-up", status: "starting" });
  expect(page.asked[0]?.wanted).toMatchObject({ mode: "new", session_id: ID, permit: "p" });
  await page.answers({ session: opened });
  expect(page.said).toEqual([answered({ mode: "new", ok: true, requested_id: null, tab_key: ID, generation: 4 })]);
});

test("nothing is forced, and nobody is asked: a refusal is handed back and leaves the list as it was", async () => {
  page.hears(action());
  await page.answers({ ok: false, reason: "session live elsewhere", detail: "claude has it" });
  expect(page.said).toEqual([answered({ mode: "resume", ok: false, requested_id: ID, tab_key: ID, generation: null, reason: "session live elsewhere", error: "claude has it" })]);
  expect([page.asked.length, page.rows, page.terminals]).toEqual([1, ["h1 idle", `i${ID} closed`], []]);
  expect(page.store.state).toMatchObject({ selected: "h1", opening: null, problem: null });
});

test("a new session that was refused leaves no row", async () => {
  page = new Page(other);
  page.hears(action({ mode: "new", requested_id: null }));
  await page.answers({ ok: false, reason: "session open failed" });
  expect(page.rows).toEqual(["h1 idle"]);
});

test("an answer without a session is no success", async () => {
  page.hears(action());
  await page.answers({ session: null });
  expect(page.said).toMatchObject([{ ok: false, generation: null }]);
});

test("a session that ended before the page had it is not confirmed", async () => {
  page.hears(action());
  await page.answers({ session: { ...opened, state: "exited" } });
  expect([page.said, page.terminals]).toMatchObject([[{ ok: false, reason: "the session is not there" }], []]);
});

test("a terminal that could not be made is not confirmed; the session stays", async () => {
  page.broken = new Error("no canvas");
  page.hears(action());
  await page.answers({ session: opened });
  expect(page.said).toMatchObject([{ ok: false, reason: "the page failed", error: "Error: no canvas" }]);
  expect(page.rows).toEqual(["h1 idle", "h9 idle"]);
});

test("a terminal that is gone again is not confirmed", async () => {
  page.blank = true;
  page.hears(action());
  await page.answers({ session: opened });
  expect(page.said).toMatchObject([{ ok: false }]);
});

test("the selection and what else a person sees stay, also while the session changes under them", async () => {
  const before = page.store.state;
  page.hears(action());
  expect(page.store.state.selected).toBe(before.selected);
  await page.answers({ session: opened });
  expect(page.store.state).toMatchObject({ selected: before.selected, opening: null, problem: null, unseen: 0, renderer: before.renderer });
});

test("a person's opening of the same session goes on as it would", async () => {
  page.store.dispatch({ type: "opening", id: ID });
  page.hears(action());
  await page.answers({ session: opened });
  expect(page.store.state.opening).toBe(ID);
});

test("the conversation's ended terminal is cleared away; who looked at it is with the new one by then", async () => {
  const ended = session({ id: ID, handle: 2, generation: 3, state: "exited", status: "exited" });
  for (const [selected, then] of [["h1", "h1"], ["h2", `h${opened.handle}`]] as const) {
    page = new Page(other, ended);
    page.store.dispatch({ type: "select", key: selected });
    page.hears(action());
    expect(page.rows).toEqual(["h1 idle", "h2 exited"]);
    await page.answers({ session: opened });
    expect(page.asked.slice(1).map((a) => a.wanted)).toEqual([{ type: "stop", session: 2 }]);
    expect([page.store.state.selected, page.said]).toMatchObject([then, [{ ok: true, generation: 4 }]]);
  }
});

test("texts are handed back no longer than the host takes them, and whole", async () => {
  page.hears(action());
  await page.answers({ ok: false, reason: "r", detail: `${"x".repeat(4095)}😀` });
  expect(page.said).toMatchObject([{ error: "x".repeat(4095) }]);
});

// --- reattach ---

test("a session that is listed gets its terminal; looked up by its key and generation, not by what was asked for", async () => {
  page = new Page(other, opened);
  page.hears(reattach());
  await settled();
  expect(page.said).toEqual([answered({ mode: "reattach", ok: true, requested_id: EARLIER, tab_key: ID, generation: 4 })]);
  expect([page.terminals, page.asked]).toEqual([[opened], []]);
});

test("one that this page has not heard of is looked for, once, and nothing is opened", async () => {
  page.hears(reattach());
  expect(page.asked.map((a) => a.wanted)).toEqual([{ type: "list", closed: 0 }]);
  page.asked[0]?.answer({ type: "listing", request: 1, sessions: [other, opened] });
  await settled();
  expect(page.said).toMatchObject([{ ok: true, generation: 4 }]);
  expect([page.rows, page.terminals, page.asked.length]).toEqual([["h1 idle", "h9 idle"], [opened], 1]);
});

test.each([
  ["nobody", []], ["another terminal", [{ ...opened, generation: 5 }]], ["an ended one", [{ ...opened, state: "exited" as const }]],
  ["what was asked for, not its key", [{ ...opened, id: EARLIER }]],
])("the place is held by %s: refused, and nothing is opened", async (_, listed) => {
  page = new Page(other, ...listed);
  page.hears(reattach());
  page.asked[0]?.answer({ type: "listing", request: 1, sessions: [other, ...listed] });
  await settled();
  expect(page.said).toMatchObject([{ ok: false, mode: "reattach", generation: null }]);
  expect([page.asked.map((a) => a.wanted.type), page.terminals]).toEqual([["list"], []]);
});

test("without a generation nothing is done", async () => {
  page = new Page(other, opened);
  page.hears(reattach({ generation: null }));
  await settled();
  expect([page.said, page.asked, page.terminals]).toMatchObject([[{ ok: false }], [], []]);
});

// --- connections ---

test("an action of another connection, or one that came before, is nothing", async () => {
  page.hears(action({ epoch: "old" }));
  expect([page.asked, page.rows[1]]).toEqual([[], `i${ID} closed`]);
  page.hears(action());
  page.hears(action());
  await page.answers({ session: opened });
  page.hears(action());
  await settled();
  expect([page.asked.length, page.said.length]).toEqual([1, 1]);
});

test.each(["lost", "new connection"])("what was under way is forgotten: %s", async (how) => {
  page.hears(action());
  if (how === "lost") page.actions.lost();
  else page.hears({ type: "welcome", protocol: 1, version: "", epoch: "e2", pid: 1 });
  await page.answers({ ok: false, reason: "not connected" });
  expect([page.said, page.terminals]).toEqual([[], []]);
});

test("an answer that comes late makes no terminal and is not confirmed", async () => {
  page.hears(action());
  page.actions.lost();
  page.hears({ type: "welcome", protocol: 1, version: "", epoch: "e2", pid: 1 });
  await page.answers({ session: opened });
  expect([page.said, page.terminals]).toEqual([[], []]);
  page.hears(action({ epoch: "e2" }));
  expect(page.asked.length).toBe(2);
});

test("several at once do not disturb each other", async () => {
  const second = session({ id: EARLIER, handle: 10, generation: 6 });
  page.hears(action());
  page.hears(action({ permit: "q", mode: "new", requested_id: null, tab_key: EARLIER }));
  await page.answers({ session: second });
  await page.answers({ ok: false, reason: "no" }, 0);
  expect(page.said).toMatchObject([{ permit: "q", ok: true, generation: 6 }, { permit: "p", ok: false }]);
  expect(page.rows).toEqual(["h1 idle", `i${ID} closed`, "h10 idle"]);
});
