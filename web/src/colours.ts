/** Colours of terminals, dark and light. Text colours keep 4.5:1 or more on their background. */

import type { ITheme } from "@xterm/xterm";

const DARK: ITheme = {
  background: "#14161a",
  foreground: "#e4e7ec",
  cursor: "#7fb0ff",
  cursorAccent: "#14161a",
  selectionBackground: "#34507d",
  selectionForeground: "#ffffff",
  black: "#5b6270",
  red: "#ff7b72",
  green: "#6fcf8b",
  yellow: "#e3b75a",
  blue: "#7fb0ff",
  magenta: "#cf9bff",
  cyan: "#62cfd6",
  white: "#d3d8e0",
  brightBlack: "#8b93a1",
  brightRed: "#ffa198",
  brightGreen: "#8fe3a6",
  brightYellow: "#f2cf7f",
  brightBlue: "#a5c8ff",
  brightMagenta: "#e0bdff",
  brightCyan: "#8ce4ea",
  brightWhite: "#ffffff",
  scrollbarSliderBackground: "#8b93a14d",
  scrollbarSliderHoverBackground: "#8b93a180",
  scrollbarSliderActiveBackground: "#8b93a1b3",
};

const LIGHT: ITheme = {
  background: "#ffffff",
  foreground: "#1b1f27",
  cursor: "#1f5fbf",
  cursorAccent: "#ffffff",
  selectionBackground: "#bcd4f7",
  selectionForeground: "#1b1f27",
  black: "#1b1f27",
  red: "#b3261e",
  green: "#1a6e37",
  yellow: "#7d5700",
  blue: "#1f5fbf",
  magenta: "#7a35b5",
  cyan: "#0d6a75",
  white: "#5a6270",
  brightBlack: "#626a78",
  brightRed: "#c4372e",
  brightGreen: "#1f7d40",
  brightYellow: "#8c6200",
  brightBlue: "#2f6fd0",
  brightMagenta: "#8a46c5",
  brightCyan: "#107885",
  brightWhite: "#343a46",
  scrollbarSliderBackground: "#5a62704d",
  scrollbarSliderHoverBackground: "#5a627080",
  scrollbarSliderActiveBackground: "#5a6270b3",
};

export function terminalColours(dark: boolean): ITheme {
  return dark ? DARK : LIGHT;
}

export interface HitColours {
  matchBackground: string;
  matchBorder: string;
  matchOverviewRuler: string;
  activeMatchBackground: string;
  activeMatchBorder: string;
  activeMatchColorOverviewRuler: string;
}

const DARK_HITS: HitColours = {
  matchBackground: "#33280a",
  matchBorder: "#8f701f",
  matchOverviewRuler: "#e3b75a",
  activeMatchBackground: "#402000",
  activeMatchBorder: "#ff9d5c",
  activeMatchColorOverviewRuler: "#ff9d5c",
};

const LIGHT_HITS: HitColours = {
  matchBackground: "#fff8dc",
  matchBorder: "#b98a1d",
  matchOverviewRuler: "#b98a1d",
  activeMatchBackground: "#fff5ef",
  activeMatchBorder: "#b3541e",
  activeMatchColorOverviewRuler: "#b3541e",
};

/** What marks the hits of a search. The programs' own text colours stand on it: hence faint grounds with borders. */
export function hitColours(dark: boolean): HitColours {
  return dark ? DARK_HITS : LIGHT_HITS;
}

const system = matchMedia("(prefers-color-scheme: dark)");

/** Whether the page is dark now, by the person's choice or the system's. */
export function isDark(theme: "system" | "dark" | "light"): boolean {
  return theme === "system" ? system.matches : theme === "dark";
}

/** Call back when the system's choice changes. */
export function onSystemColours(callback: () => void): void {
  system.addEventListener("change", callback);
}
