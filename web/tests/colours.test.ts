import { expect, test, vi } from "vitest";

vi.stubGlobal("matchMedia", () => ({ matches: false }));
const { hitColours, terminalColours } = await import("../src/colours");

function luminance(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

const GROUNDS = ["background", "cursor", "cursorAccent", "selectionBackground", "selectionForeground"];

test.each([true, false])("text that can be read can be read in a hit of a search too (dark: %s)", (dark) => {
  const theme = terminalColours(dark);
  const hits = hitColours(dark);
  const texts = Object.entries(theme).filter(([name]) => !GROUNDS.includes(name) && !name.startsWith("scrollbar"));
  const readable = texts.filter(([, colour]) => contrast(colour, theme.background ?? "") >= 4.5);
  expect(readable.length).toBeGreaterThan(14);
  for (const ground of [hits.matchBackground, hits.activeMatchBackground]) {
    expect(readable.filter(([, colour]) => contrast(colour, ground) < 4.5)).toEqual([]);
  }
  // The active hit is selected as well, and a selection has one colour of text.
  expect(contrast(theme.selectionForeground ?? "", theme.selectionBackground ?? "")).toBeGreaterThan(4.5);
  // The borders tell hits from the rest, and the active one from the others (WCAG 1.4.11).
  expect(contrast(hits.activeMatchBorder, hits.activeMatchBackground)).toBeGreaterThan(3);
});
