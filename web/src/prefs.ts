/** What this browser remembers of how a person likes the page. Nothing about sessions' content. */

export interface Prefs {
  theme: "system" | "dark" | "light";
  sidebar: number;
  view: "single" | "grid";
  activity: boolean;
  fontSize: number;
  screenReader: boolean;
  collapsed: string[];
  running: boolean;
  today: boolean;
  profile: string;
}

const DEFAULTS: Prefs = {
  theme: "system",
  sidebar: 300,
  view: "single",
  activity: false,
  fontSize: 13,
  screenReader: false,
  collapsed: [],
  running: false,
  today: false,
  profile: "claude",
};

const KEY = "switchboard-prefs";

/** The stored preferences; a field of the wrong kind counts as absent (pure). */
export function parsePrefs(text: string | null): Prefs {
  let stored: unknown = null;
  try {
    stored = text === null ? null : JSON.parse(text);
  } catch {
    // Something else wrote there: start afresh.
  }
  const prefs = { ...DEFAULTS };
  if (typeof stored !== "object" || stored === null) return prefs;
  for (const name of Object.keys(DEFAULTS) as (keyof Prefs)[]) {
    const value = (stored as Record<string, unknown>)[name];
    if (typeof value === typeof DEFAULTS[name] && Array.isArray(value) === Array.isArray(DEFAULTS[name])) {
      Object.assign(prefs, { [name]: value });
    }
  }
  prefs.sidebar = Math.min(640, Math.max(200, prefs.sidebar));
  prefs.fontSize = Math.min(28, Math.max(8, prefs.fontSize));
  return prefs;
}

export function loadPrefs(): Prefs {
  try {
    return parsePrefs(localStorage.getItem(KEY));
  } catch {
    return { ...DEFAULTS }; // storage is refused: the page works without
  }
}

export function savePrefs(prefs: Prefs): void {
  try {
    localStorage.setItem(KEY, JSON.stringify(prefs));
  } catch {
    // As above.
  }
}
