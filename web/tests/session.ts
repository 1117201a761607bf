import type { SessionInfo } from "../src/messages";

/** A session for tests; what matters to one is named there. */
export function session(fields: Partial<SessionInfo> = {}): SessionInfo {
  return {
    id: "aaaaaaaa-0000-4000-8000-000000000000", state: "open", cli: "claude", status: "idle", handle: 1, generation: 1, kind: "agent",
    name: null, title: null, project: null, cwd: "/home/me/src/shop", pid: 10, waiting_for: null, status_since: null,
    opened_at: null, modified_at: null, columns: 120, rows: 40, draft: false, attention: false, exit: null, opened_by: null, sandbox: false,
    cli_version: null,
    ...fields,
  };
}
