/** Draws again when one of the relative times on screen changes: one timer to that instant, none while hidden. */

import type { App } from "./app";
import { lastSeen } from "./catalog";
import { nextAgeChange } from "./text";

export function watchAges(app: App): void {
  let timer: number | undefined;
  const plan = () => {
    clearTimeout(timer);
    if (document.visibilityState !== "visible") return;
    const now = Date.now();
    const shown = app.store.state.sessions.map(lastSeen).filter((at): at is number => at !== null);
    if (app.prefs.activity) shown.push(...app.store.state.triggers.map((trigger) => trigger.last.at));
    const next = nextAgeChange(shown, now);
    if (Number.isFinite(next)) timer = setTimeout(() => app.store.changed(), Math.min(2 ** 31 - 1, Math.max(1_000, next - now)));
  };
  app.store.subscribe(plan);
  document.addEventListener("visibilitychange", () => (document.visibilityState === "visible" ? app.store.changed() : plan()));
}
