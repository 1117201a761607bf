/** What the parts of the page share. Built once in `main.ts`; views and actions get it as an argument. */

import type { Deck } from "./deck";
import type { Prefs } from "./prefs";
import type { Socket } from "./socket";
import type { Store } from "./store";

export interface App {
  store: Store;
  socket: Socket;
  deck: Deck;
  prefs: Prefs;
  /** Change preferences, store them, and draw again. */
  prefer(change: Partial<Prefs>): void;
  /** Say something briefly. */
  toast(text: string, level?: "info" | "warning" | "error"): void;
  /** Show in the flash bar that keys went nowhere. */
  flash(text: string): void;
  /** Put the keyboard into the terminal on screen. */
  focusTerminal(): void;
  /** Open or close the drawer with the sessions on a narrow window. */
  drawer(open: boolean): void;
  /** Turn inline renaming of the selected session on. */
  startRename(): void;
  /** Open the search box of the terminal on screen. */
  startSearch(): void;
}
