// Generated from src/switchboard/page/messages.py by tools/generate_messages.py. Do not edit.

export const PROTOCOL = 2;
export const MAX_MESSAGE = 262144;
export const MAX_INPUT = 65536;

/** The longest text, in code points, of each field of what the page sends. */
export const LIMITS: Record<string, Record<string, number>> = {
  hello: { version: 64 },
  open: { profile: 64, session_id: 128, cwd: 4096, name: 256, permit: 64 },
  rename: { name: 256 },
  session_action_result: { permit: 64, epoch: 64, requested_id: 128, tab_key: 128, reason: 4096, error: 4096 },
};

/** The connection is accepted; `epoch` is unique for it. */
export interface Welcome {
  type: "welcome";
  protocol: number;
  version: string;
  epoch: string;
  pid: number;
}

/** Whether this page holds the renderer role now. */
export interface Role {
  type: "role";
  renderer: boolean;
}

/** All sessions, closed ones last; replaces what was known. */
export interface Sessions {
  type: "sessions";
  sessions: SessionInfo[];
}

/**
 * One session as pages and `switchboard ls` show it.
 *
 * `handle` is the session's number in this data directory (null for a closed one); `id` is the CLI's session id and may
 * change (`/clear`); `generation` tells two terminals that had the same id apart. `status` is one of starting, idle,
 * busy, waiting, shell, running (a CLI that publishes nothing), exited, failed, unknown. Times are wall milliseconds.
 * `draft`: a person's unsubmitted input is in the composer. `opened_by`: null when a person opened it. `sandbox`: it was
 * started in a sandbox; false for a closed one, whose next start goes by the settings. `cli_version`: of the program
 * that runs, as it says itself; null when it does not.
 */
export interface SessionInfo {
  id: string;
  state: "closed" | "exited" | "open";
  cli: string;
  status: string;
  handle: number | null;
  generation: number;
  kind: "agent" | "attach" | "shell";
  name: string | null;
  title: string | null;
  project: string | null;
  cwd: string | null;
  pid: number | null;
  waiting_for: string | null;
  status_since: number | null;
  opened_at: number | null;
  modified_at: number | null;
  columns: number;
  rows: number;
  draft: boolean;
  attention: boolean;
  exit: ExitStatus | null;
  opened_by: "trigger" | null;
  sandbox: boolean;
  cli_version: string | null;
}

/** How a process ended: an exit code, or the number of the signal; both null when nobody could see it. */
export interface ExitStatus {
  code: number | null;
  signal: number | null;
}

/** One session is new or has changed (same `handle`). */
export interface SessionChanged {
  type: "session";
  session: SessionInfo;
}

/** This session has left the list. */
export interface SessionGone {
  type: "gone";
  session: number;
}

/**
 * Output follows in frames that carry this handle; the first byte sent is number `seq`.
 *
 * `lost`: bytes between what was asked for and `seq` that the ring no longer holds. `live_seq`: bytes before it are
 * replay. `owner`: this page's size is in force; `free`: no page's is. `modes`: control sequences to write to a cleared
 * terminal first, because what set them is no longer held.
 */
export interface Attached {
  type: "attached";
  session: number;
  seq: number;
  live_seq: number;
  lost: number;
  columns: number;
  rows: number;
  owner: boolean;
  free: boolean;
  modes: string;
}

/** This page read too slowly: output jumps to byte number `seq`. Clear the terminal and write `modes` to it. */
export interface Resync {
  type: "resync";
  session: number;
  seq: number;
  lost: number;
  modes: string;
}

/** The session's terminal size is now this. `owner`: it is this page's; `free`: it was a page's that has gone. */
export interface Size {
  type: "size";
  session: number;
  columns: number;
  rows: number;
  owner: boolean;
  free: boolean;
}

/** Answer to `list`. */
export interface Listing {
  type: "listing";
  request: number;
  sessions: SessionInfo[];
}

/** The outcome of a request. `reason` is a stable text, `detail` says what to do. */
export interface Done {
  type: "done";
  request: number;
  ok: boolean;
  reason: string | null;
  detail: string | null;
  session: SessionInfo | null;
}

/** Answer to `address`. `url` ends in a ticket: show it to the person who asked, and write it nowhere. */
export interface AddressIs {
  type: "address_is";
  request: number;
  url: string;
}

/**
 * Have this session as your own pages' opening would give it, and select nothing. Answer `session_action_result`.
 *
 * `reattach`: the session is open; have its row and terminal, and start nothing. `resume` and `new`: ask for the start
 * with `open`, this `permit`, this `mode` and `tab_key` as its `session_id`; then have what was opened. `requested_id`
 * is what the trigger named, which the session may have had as an earlier id (null for `new`); `tab_key` is the `id` of
 * the session in the list. `generation` (of a reattached session only) must be the listed one's. `profile`, `project`,
 * `cwd` and `name` are for a row that shows before the start; null where they do not matter. `deadline` (wall
 * milliseconds): from then on an answer is ignored and the permit opens nothing.
 */
export interface SessionAction {
  type: "session_action";
  permit: string;
  epoch: string;
  mode: "new" | "reattach" | "resume";
  requested_id: string | null;
  tab_key: string;
  generation: number | null;
  deadline: number;
  profile: string | null;
  project: string | null;
  cwd: string | null;
  name: string | null;
}

/**
 * A trigger file arrived, made progress, or has its result.
 *
 * `outcome` (opened, closed, refused, not-found), `uncertain` (it may have taken effect although it did not succeed) and
 * `detail` (for a person) are those of a versioned request's result. `target`: what its session is called at this step,
 * null where the host knows no such session; the id may be one that the session had before.
 */
export interface TriggerActivity {
  type: "trigger";
  name: string;
  at: number;
  step: "done" | "opening" | "received" | "stopping" | "waiting" | "writing";
  action: string;
  session_id: string | null;
  ok: boolean | null;
  submitted: string | null;
  error: string | null;
  reason: string | null;
  outcome: string | null;
  uncertain: boolean;
  detail: string | null;
  target: string | null;
}

/** Something a person should know (the keeper was lost, the host is closing). */
export interface Notice {
  type: "notice";
  level: "error" | "info" | "warning";
  text: string;
}

/**
 * What this connection sent is refused; the connection closes.
 *
 * `kind`: `final`, the same would be refused again; `passing`, a later connection may be served.
 */
export interface Problem {
  type: "problem";
  text: string;
  kind: "final" | "passing";
}

/** Answer to `confirm`, with its number. */
export interface Confirmed {
  type: "confirmed";
  number: number;
}

/** Answer `pong` with this number within 10 s, or lose the connection. */
export interface Ping {
  type: "ping";
  number: number;
}

export type HostMessage =
  | Welcome
  | Role
  | Sessions
  | SessionChanged
  | SessionGone
  | Attached
  | Resync
  | Size
  | Listing
  | Done
  | AddressIs
  | SessionAction
  | TriggerActivity
  | Notice
  | Problem
  | Confirmed
  | Ping;

/** First message of a connection. */
export interface Hello {
  type: "hello";
  protocol: number;
  kind: "browser" | "command" | "terminal";
  version?: string;
}

/** The page has registered its handlers and drawn its first list. */
export interface Ready {
  type: "ready";
}

/** Answer to `ping`, with its number. */
export interface Pong {
  type: "pong";
  number: number;
}

/** Answer `confirmed` with this number once everything that was typed before has been taken, or refused aloud. */
export interface Confirm {
  type: "confirm";
  number: number;
}

/**
 * Show me this session's output from byte number `from_seq` on (null: what the ring still holds).
 *
 * The host answers `attached`, then sends output frames. A first stretch that was printed before the attachment is a
 * replay: terminal queries are taken out of it.
 */
export interface Attach {
  type: "attach";
  session: number;
  from_seq?: number | null;
}

/** No more output of this session, please. */
export interface Detach {
  type: "detach";
  session: number;
}

/**
 * A person uses this session in this page now: its size decides, and its terminal answers queries.
 *
 * `free`: nobody does so just now. The page only shows the session, and has the size unless another page has it by then;
 * `size` says which. `before`, with `free`: it had the size when its last connection was lost, so it has it also from a
 * page that merely took it because it was free.
 */
export interface Focus {
  type: "focus";
  session: number;
  columns: number;
  rows: number;
  free?: boolean;
  before?: boolean;
}

/**
 * Open a session: `new` in `cwd`, `resume` or `fork` of `session_id`, or a plain `shell` in `cwd`.
 *
 * `force` is a person's answer to "it is live elsewhere, open anyway?". `permit`: that of the `session_action` which
 * asks for it, with its `mode` and its `tab_key` as `session_id`; null for what people do. With a permit, the size is
 * all else that counts: CLI, directory and name are those that the host issued it for.
 */
export interface OpenSession {
  type: "open";
  request: number;
  mode: "fork" | "new" | "resume" | "shell";
  profile?: string;
  session_id?: string | null;
  cwd?: string | null;
  name?: string | null;
  columns?: number;
  rows?: number;
  force?: boolean;
  permit?: string | null;
}

/** End this session as a person asks for it; `force`: by SIGKILL, after an ordinary stop did not do. */
export interface StopSession {
  type: "stop";
  request: number;
  session: number;
  force?: boolean;
}

/** Give the session a display name; an empty one clears it. */
export interface Rename {
  type: "rename";
  request: number;
  session: number;
  name: string;
}

/** Answer with `listing`: open sessions, and up to `closed` closed ones, newest first. */
export interface ListSessions {
  type: "list";
  request: number;
  closed?: number;
}

/** Stop the host; with `sessions`, end every session as Stop would first. */
export interface Shutdown {
  type: "shutdown";
  request: number;
  sessions?: boolean;
}

/** Answer with `address_is`: where a browser finds the page, with a ticket that is good for one use. */
export interface Address {
  type: "address";
  request: number;
}

/**
 * How a `session_action` ended in this page, once: `permit` to `tab_key` are those of the action.
 *
 * `ok`: the page has the session's row and terminal. `generation` is then that of the session it has; otherwise null.
 * `reason` and `error` say why not, for a person.
 */
export interface SessionActionResult {
  type: "session_action_result";
  permit: string;
  epoch: string;
  mode: "new" | "reattach" | "resume";
  ok: boolean;
  requested_id: string | null;
  tab_key: string;
  generation: number | null;
  reason?: string | null;
  error?: string | null;
}

/** Last message of a page that leaves on purpose. Without it, an ended connection counts as an unclean end. */
export interface Bye {
  type: "bye";
}

export type PageMessage =
  | Hello
  | Ready
  | Pong
  | Confirm
  | Attach
  | Detach
  | Focus
  | OpenSession
  | StopSession
  | Rename
  | ListSessions
  | Shutdown
  | Address
  | SessionActionResult
  | Bye;
