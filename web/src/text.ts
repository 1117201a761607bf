/** Words and times for people (pure). Names, titles and paths come from programs: nothing invisible gets through. */

import type { SessionInfo } from "./messages";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** `text` on one line, with control, format (direction overrides among them) and separator characters as spaces. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]|(?!\u200d)\p{Cf}/gu, " ");
}

/** The last two segments of a path: what people call a project. */
export function lastSegments(path: string, count = 2): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.length > 0 ? parts.slice(-count).join("/") : path;
}

/** What agents put before their titles to show that they work; the status icon says that here. */
const MARK = /^[\u2722\u2733\u2736\u273b\u273d\u00b7\u2800-\u28ff*]\s+/u;

/** A name or title as it is shown; empty when nothing of it is left. */
export function nameOf(name: string | null | undefined): string {
  return name ? plain(name).trim().replace(MARK, "") : "";
}

/** The name a person sees: their own, else the terminal's title, else the start of the id. */
export function labelOf(session: SessionInfo): string {
  const named = nameOf(session.name) || nameOf(session.title);
  if (named) return named;
  if (session.kind === "shell") return "Terminal";
  return plain(session.id.slice(0, 8)) || "session";
}

/** How long ago an instant was, short; empty when unknown. Both in wall milliseconds. */
export function age(then: number | null, now: number): string {
  if (then === null) return "";
  const passed = Math.max(0, now - then);
  if (passed >= DAY) return `${Math.floor(passed / DAY)}d`;
  if (passed >= HOUR) return `${Math.floor(passed / HOUR)}h`;
  if (passed >= MINUTE) return `${Math.floor(passed / MINUTE)}m`;
  return "now";
}

/** The instant at which the shortest of the ages above next changes; Infinity with none. */
export function nextAgeChange(instants: Iterable<number>, now: number): number {
  let next = Infinity;
  for (const then of instants) {
    const passed = Math.max(0, now - then);
    const unit = passed >= DAY ? DAY : passed >= HOUR ? HOUR : MINUTE;
    next = Math.min(next, then + (Math.floor(passed / unit) + 1) * unit);
  }
  return next;
}

/** A duration in words, to three significant figures at most. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(ms < 10 * SECOND ? 1 : 0)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.round((ms % MINUTE) / SECOND)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.round((ms % HOUR) / MINUTE)} min`;
}

/** A number with its noun. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

const CLI_TITLES: Record<string, string> = {
  claude: "Claude Code",
  agent: "Switchboard agent",
  shell: "Terminal",
  attach: "Background job",
  codex: "Codex",
  gemini: "Gemini CLI",
  opencode: "opencode",
};

/** What people call a CLI. */
export function cliTitle(profile: string): string {
  return CLI_TITLES[profile] ?? plain(profile);
}

/** The CLI of a session, and the version that it says it has. */
export function program(session: SessionInfo): string {
  return [cliTitle(session.cli), plain(session.cli_version ?? "").trim()].filter(Boolean).join(" ");
}

/** How an ended session ended. */
export function exitText(session: SessionInfo): string {
  // Status "exited" means: as it was asked to, or by itself. The number would only puzzle.
  if (session.status === "exited") return "ended";
  const exit = session.exit;
  if (exit?.signal != null) return `ended by signal ${exit.signal}`;
  if (exit?.code != null) return `ended with code ${exit.code}`;
  return "ended";
}

/** Says quietly that no person opened this session; empty when one did. */
export function originMark(session: SessionInfo): string {
  return session.opened_by === "trigger" ? "↳ trigger" : "";
}

/** Says quietly that it runs in a sandbox; empty when it does not. */
export function sandboxMark(session: SessionInfo): string {
  return session.sandbox ? "▢ sandbox" : "";
}

/** The word shown for a status, and what it asks of a person. */
export function statusWord(session: SessionInfo): string {
  if (session.status === "waiting") return "waiting for you";
  return session.status;
}
