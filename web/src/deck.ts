/** All terminals of this page: which are on screen, which are kept ready, and the host's messages to each. */

import type { Output } from "./frames";
import type { HostMessage, SessionInfo } from "./messages";
import type { Look } from "./surface";
import { type Surroundings, TerminalView } from "./terminal";

/** Terminals kept attached while they are not on screen, so that going back to one shows it at once. */
const KEPT = 8;

/** Browsers allow about 16 WebGL surfaces for all pages together. Phones draw well without, and lose such surfaces often. */
const ACCELERATED = matchMedia("(pointer: coarse)").matches ? 0 : 6;

export class Deck {
  private readonly views = new Map<number, TerminalView>();
  private shown: number[] = [];
  private turn = 0;

  constructor(private readonly around: Surroundings, private look: Look) {}

  get(handle: number): TerminalView | undefined {
    return this.views.get(handle);
  }

  /** The terminal of a session, made and attached if need be. */
  open(session: SessionInfo & { handle: number }): TerminalView {
    let view = this.views.get(session.handle);
    if (view === undefined) {
      view = new TerminalView(session.handle, session.columns, session.rows, this.look, this.around);
      this.views.set(session.handle, view);
      view.attach();
    }
    view.shownAt = ++this.turn;
    return view;
  }

  /** The terminal of a session that nobody looks at, made and kept as those that were looked at before. */
  prepare(session: SessionInfo & { handle: number }): void {
    this.open(session);
    this.onScreen(this.shown);
  }

  /** These are on screen now; of the others a few are kept. */
  onScreen(handles: number[]): void {
    this.shown = handles;
    const fast = handles.slice(0, ACCELERATED);
    for (const [handle, view] of this.views) view.surface.accelerate(fast.includes(handle));
    const hidden = [...this.views.values()].filter((view) => !handles.includes(view.handle));
    hidden.sort((a, b) => b.shownAt - a.shownAt);
    for (const view of hidden.slice(KEPT)) this.close(view.handle);
  }

  close(handle: number): void {
    this.views.get(handle)?.dispose();
    this.views.delete(handle);
  }

  received(message: HostMessage): void {
    switch (message.type) {
      case "attached":
        this.views.get(message.session)?.attached(message);
        break;
      case "resync":
        this.views.get(message.session)?.resync(message);
        break;
      case "size":
        this.views.get(message.session)?.sized(message);
        break;
      case "gone":
        this.close(message.session);
        break;
      case "sessions":
        this.reconnected(message.sessions);
        break;
    }
  }

  output(output: Output): void {
    this.views.get(output.session)?.output(output.seq, output.data);
  }

  lost(): void {
    for (const view of this.views.values()) view.lost();
  }

  /** The list came on a new connection: every terminal goes on from where it stands. */
  private reconnected(sessions: SessionInfo[]): void {
    const there = new Set(sessions.map((session) => session.handle));
    for (const view of [...this.views.values()]) {
      if (!there.has(view.handle)) {
        this.close(view.handle);
        continue;
      }
      // That the connection is there again is nobody's use of this page: the size is claimed only if it is free.
      view.attach();
    }
  }

  restyle(look: Look): void {
    this.look = look;
    for (const view of this.views.values()) view.restyle(look);
  }
}
