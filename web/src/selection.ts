/** Which session a reload of this tab goes back to. Each tab has its own. */

import type { App } from "./app";
import { goesOn, keyOf } from "./catalog";
import { selectedSession } from "./state";

const KEY = "switchboard-selected";

export function rememberSelection(app: App): { restore(): void } {
  let stored: string | null = null;
  try {
    stored = sessionStorage.getItem(KEY);
  } catch {
    // Storage is refused: nothing is selected after a reload.
  }
  app.store.subscribe((state) => {
    const id = selectedSession(state)?.id;
    if (id === undefined || id === stored) return;
    stored = id;
    try {
      sessionStorage.setItem(KEY, id);
    } catch {
      // As above.
    }
  });
  return {
    restore() {
      const session = app.store.state.sessions.find((s) => s.id === stored);
      if (session === undefined || app.store.state.selected !== null) return;
      app.store.dispatch({ type: "select", key: keyOf(goesOn(session, app.store.state.sessions) ?? session) });
      app.focusTerminal();
    },
  };
}
