/** Holds the state, and tells views once per turn when it has changed. */

import { type Event, INITIAL, reduce, type State } from "./state";

export type Listener = (state: State) => void;

export class Store {
  private current = INITIAL;
  private readonly listeners: Listener[] = [];
  private scheduled = false;

  get state(): State {
    return this.current;
  }

  dispatch(event: Event): void {
    const next = reduce(this.current, event);
    if (next === this.current) return;
    this.current = next;
    this.changed();
  }

  /** Draw again although the state is the same: a preference or the time has changed. */
  changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    // A microtask rather than an animation frame: the title must follow while the page is hidden.
    queueMicrotask(() => {
      this.scheduled = false;
      for (const listener of this.listeners) listener(this.current);
    });
  }

  subscribe(listener: Listener): void {
    this.listeners.push(listener);
    listener(this.current);
  }
}
