/** How well a few typed letters fit a text (pure). */

/** Higher is better; null: does not fit. All letters must occur in order; whole words and beginnings count more. */
export function score(wanted: string, text: string): number | null {
  const letters = wanted.toLowerCase().replace(/\s+/g, "");
  const within = text.toLowerCase();
  if (letters === "") return 0;
  const whole = within.indexOf(wanted.trim().toLowerCase());
  if (whole >= 0) return 1000 - whole + (whole === 0 || !/\w/.test(within[whole - 1] ?? "") ? 500 : 0);
  let at = -1;
  let total = 0;
  for (const letter of letters) {
    const next = within.indexOf(letter, at + 1);
    if (next < 0) return null;
    total += next === at + 1 ? 5 : next === 0 || !/\w/.test(within[next - 1] ?? "") ? 4 : 0;
    at = next;
  }
  return total;
}
