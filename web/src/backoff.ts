/** When a lost connection is tried again (pure). */

const FIRST_MS = 200;
const LAST_MS = 8_000;

/** Milliseconds before try number `attempt` (0 is the first after a loss). `random` is in [0, 1). */
export function retryDelay(attempt: number, random: number): number {
  const delay = Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(attempt, 10));
  // Spread, so that many pages do not come back in one moment; never above the longest.
  return Math.round(delay * (0.6 + 0.4 * random));
}
