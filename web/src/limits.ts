/** Whether a message would be taken by the host (pure): what it says of texts, looked at before they are sent. */

import { LIMITS } from "./messages";

const NAMES: Record<string, string> = { cwd: "directory", name: "name", session_id: "session id", profile: "program's name" };

/** Why the host would refuse this message, for people; null when it fits. */
export function unfit(message: { type: string }): string | null {
  const limits: Record<string, number> = LIMITS[message.type] ?? {};
  for (const [field, most] of Object.entries(limits)) {
    const text = (message as Record<string, unknown>)[field];
    if (typeof text !== "string") continue;
    const what = NAMES[field] ?? field;
    // The host counts code points.
    const length = [...text].length;
    if (length > most) return `The ${what} has ${length} characters; it may have ${most}.`;
    if (/\p{Cs}/u.test(text)) return `The ${what} has half a character in it, which cannot be sent.`;
  }
  return null;
}
