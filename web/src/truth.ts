/** How a text that a program wants in the clipboard is shown: nothing in it hides (pure). */

/** A longer text is shown by its beginning and its end. */
export const WHOLE = 8192;

export interface Shown {
  head: string;
  /** What stands between the two; null when the head is all of it. */
  gap: string | null;
  tail: string;
  /** What to beware of; null when there is nothing. */
  warning: string | null;
}

export function truthful(text: string): Shown {
  const whole = text.length <= WHOLE;
  const head = whole ? text : text.slice(0, WHOLE / 2);
  const tail = whole ? "" : text.slice(-WHOLE / 2);
  const lines = text.split(/\r\n|[\r\n\u2028\u2029]/).length;
  const warnings = [
    lines > 1 ? `It has ${lines} lines: pasted into a shell, each may run at once.` : "",
    visible(text.replace(BREAKS, "")) !== text.replace(BREAKS, "") ? "It has control or invisible characters, which are shown as signs." : "",
  ].filter(Boolean);
  return {
    head: visible(head),
    gap: whole ? null : `${text.length - WHOLE} of ${text.length} characters are not shown`,
    tail: visible(tail),
    warning: warnings.join(" ") || null,
  };
}

const BREAKS = /\r\n|[\r\n]/g;

/** The two invisible characters of emoji are left where an emoji has them. */
const HIDDEN =
  /(?<!\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}\ufe0f]?)[\u200d\ufe0f]|(?![\u200d\ufe0f])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON for people: what would not be seen in it, or turn it around, as its escape. */
export function escaped(json: string): string {
  return json.replace(HIDDEN, (found) =>
    found === "\n" ? found : Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

function visible(text: string): string {
  return text
    .split(BREAKS)
    .map((line) => line.replace(HIDDEN, sign))
    .join("⏎\n");
}

const NAMES: Record<number, string> = { 0x00: "NUL", 0x03: "Ctrl-C", 0x04: "Ctrl-D", 0x07: "BEL", 0x08: "BS", 0x09: "TAB", 0x1b: "ESC", 0x7f: "DEL" };

function sign(character: string): string {
  // Not the pictures that Unicode has for control characters: many fonts lack them.
  const code = character.codePointAt(0) ?? 0;
  return `⟨${NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`}⟩`;
}
