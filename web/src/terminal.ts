/** One session's terminal in this page: the flow of bytes, what is typed, and whose size is in force. */

import type { Terminal } from "@xterm/xterm";
import { Cursor } from "./cursor";
import { h } from "./dom";
import type { Attached, Resync, Size } from "./messages";
import { withoutReplies } from "./replies";
import { type Look, Surface } from "./surface";

/** Bytes waiting to be parsed above which the host is asked to hold this session's output. */
const HIGH_WATER = 4 * 1024 * 1024;
const LOW_WATER = 256 * 1024;

const RESET = "\x1bc";
const SMALLEST_FONT = 6;
/** In a card, text that can be read counts for more than text that is all there. */
const SMALLEST_CARD_FONT = 9;

/** What a terminal needs of the page around it. */
export interface Surroundings {
  attach(handle: number, from: number | null): void;
  detach(handle: number): void;
  /** Want this size in force: because a person is here, or (`free`) unless another page's is; `before`: it was. */
  focus(handle: number, columns: number, rows: number, free: boolean, before: boolean): void;
  /** Type, or (`answer`) tell a program what it asked the terminal; false when nothing was (and a person was told). */
  type(handle: number, data: Uint8Array, answer: boolean): boolean;
  /** A program wants to write to the clipboard. */
  copyWanted(handle: number, text: string): void;
  /** A link is under the pointer; null when it no longer is. */
  linkHovered(url: string | null): void;
  /** The person's keyboard went into this terminal. */
  entered(handle: number): void;
  /** Changes what is typed: the sticky Ctrl of the key bar. */
  modify(text: string): string;
  appKey(event: KeyboardEvent): boolean;
}

const encoder = new TextEncoder();

export class TerminalView {
  readonly element: HTMLElement;
  readonly term: Terminal;
  readonly surface: Surface;
  /** `fit`: this page's size may be in force. `scale`: the session's size is shown, made small. */
  mode: "fit" | "scale" = "fit";
  shownAt = 0;
  private readonly note: HTMLButtonElement;
  private readonly holder: HTMLElement;
  private readonly cursor = new Cursor();
  private look: Look;
  private owner = false;
  /** This page's size was in force when the connection was lost. */
  private before = false;
  /** Whether this page's size shall be in force: as soon as it is on screen, or only if no other page's is. */
  private wants: "nothing" | "free" | "use" = "nothing";
  /** The host was asked for a size that was free, and has not said whose it is. */
  private claiming = false;
  private columns: number;
  private rows: number;
  private pending = 0;
  private parsed = 0;
  private held = false;
  private attachedNow = false;
  /** The host has not yet answered our wish to be shown the output, nor said whose size is in force. */
  private asked = false;
  /** Meanwhile a person has used this terminal, so that ours is. */
  private claimed = false;
  /** The page with the size has gone while nobody saw this one. */
  private offered = false;
  /** The keyboard is brought here by the page, not by a person. */
  private quiet = false;
  private readonly gone = new AbortController();
  /** What the key that is just being handled stands for: some keys look like answers. */
  private pressed: string | null = null;

  constructor(readonly handle: number, columns: number, rows: number, look: Look, private readonly around: Surroundings) {
    this.columns = columns;
    this.rows = rows;
    this.look = look;
    this.holder = h("div", { class: "term-holder" });
    this.note = h("button", { class: "size-note", type: "button", hidden: true, onclick: () => this.enter() });
    this.element = h("div", { class: "term" }, this.holder, this.note);
    this.surface = new Surface(this.holder, columns, rows, look, {
      linkHovered: around.linkHovered,
      copyWanted: (text) => {
        if (!this.replaying) around.copyWanted(handle, text);
      },
    });
    this.term = this.surface.term;
    this.term.onKey(({ key }) => (this.pressed = key));
    this.term.onData((data) => this.typed(data));
    this.term.onCursorMove(() => {
      if (this.mode === "scale") this.follow();
    });
    this.term.onBinary((data) => this.send(Uint8Array.from(data, (c) => c.charCodeAt(0))));
    this.term.attachCustomKeyEventHandler((event) => !around.appKey(event));
    this.term.textarea?.addEventListener("focus", () => {
      around.entered(handle);
      if (this.mode === "fit" && document.hasFocus() && !this.quiet) this.take();
    });
    this.holder.addEventListener("pointerdown", () => {
      if (!this.owner && this.mode === "fit") this.take();
    });
    new ResizeObserver(() => this.layout()).observe(this.element);
    document.addEventListener("visibilitychange", () => this.offered && this.free(), { signal: this.gone.signal });
  }

  // --- output ---

  get replaying(): boolean {
    return this.parsed < this.cursor.liveFrom;
  }

  /** Ask for output from where this terminal stands. */
  attach(): void {
    this.attachedNow = true;
    this.held = false;
    this.asked = true;
    this.claimed = false;
    this.around.attach(this.handle, this.cursor.next);
  }

  /** The connection is gone; what was shown stays. */
  lost(): void {
    this.attachedNow = false;
    this.before ||= this.owner;
    this.owner = false;
    this.wants = "nothing";
    this.claiming = false;
    this.showNote(false);
  }

  attached(message: Attached): void {
    if (!this.attachedNow) return;
    const { clear } = this.cursor.attached(message.seq, message.live_seq);
    if (clear || message.modes) this.term.write(RESET + message.modes);
    this.parsed = Math.min(this.parsed, message.seq);
    if (clear || this.parsed === 0) this.parsed = message.seq;
    this.asked = false;
    if (!this.claimed) this.sized(message);
    // After a restart of the host nobody has the size, or a page that was only quicker.
    if (message.free || this.before) this.free();
    this.settle();
  }

  /** No page's size is in force: whoever shows the session may have it, and answers its programs. */
  free(): void {
    this.offered = this.mode === "fit" && document.visibilityState !== "visible";
    if (this.mode === "fit" && !this.offered) this.appear();
  }

  /** It is on screen, although nobody has chosen it just now: if the size is free, it is this page's. */
  private appear(): void {
    if (this.owner) return;
    if (this.wants === "nothing") this.wants = "free";
    this.settle();
  }

  resync(message: Resync): void {
    this.cursor.resync(message.seq);
    this.term.write(RESET + message.modes);
  }

  output(seq: number, data: Uint8Array): void {
    if (!this.attachedNow) return;
    const known = this.cursor.take(seq, data.length);
    if (known === null) return this.attach();
    const live = this.cursor.liveFrom;
    const end = seq + data.length;
    // What is replay and what is live are parsed apart: answers are dropped in the first, given in the second.
    const cut = live > seq + known && live < end ? live - seq : data.length;
    this.write(data.subarray(known, cut), seq + cut);
    this.write(data.subarray(cut), end);
  }

  private write(data: Uint8Array, end: number): void {
    if (data.length === 0) return;
    this.pending += data.length;
    this.term.write(data, () => {
      this.pending -= data.length;
      this.parsed = Math.max(this.parsed, end);
      this.settle();
    });
    if (this.pending > HIGH_WATER && !this.held) {
      // A browser cannot stop reading a WebSocket: the host holds the output instead, and its ring bounds it.
      this.held = true;
      this.around.detach(this.handle);
    }
  }

  private settle(): void {
    if (this.held && this.pending < LOW_WATER && this.attachedNow) this.attach();
    if (this.wants === "nothing" || !this.attachedNow || this.asked || this.replaying) return;
    if (document.visibilityState === "visible") return this.take(this.wants === "free");
    // Nobody sees this page (any more): when somebody does, it has what is still free then.
    this.wants = "nothing";
    this.offered = true;
  }

  // --- input ---

  private typed(data: string): void {
    const keys = data === this.pressed ? data : withoutReplies(data);
    this.pressed = null;
    const text = this.owner && !this.replaying ? data : keys;
    if (text === "") return;
    this.send(encoder.encode(this.around.modify(text)), keys === "");
  }

  private send(data: Uint8Array, answer = false): void {
    if (!this.owner && !answer) this.take();
    this.around.type(this.handle, data, answer);
  }

  /** Keys of the key bar. */
  press(sequence: string): void {
    this.pressed = sequence;
    this.typed(sequence);
  }

  // --- size ---

  /** This page's size shall be in force, once what is replayed has been drawn in the size it was printed in. */
  use(): void {
    this.wants = "use";
    this.settle();
  }

  /** The keyboard goes on in this terminal, which has come in the place of the one that had it. */
  focusQuietly(): void {
    this.quiet = true;
    this.term.focus();
    this.quiet = false;
  }

  private enter(): void {
    this.take();
    this.term.focus();
  }

  private take(free = false): void {
    const size = this.proposed();
    this.wants = "nothing";
    if (size === null || !this.attachedNow) return;
    this.offered = false;
    this.mode = "fit";
    this.claiming = free;
    // Several pages may ask for a free size, and one gets it: the host says which, and until then nothing is drawn anew.
    if (!free) {
      this.owner = true;
      this.claimed = true;
      this.columns = size.cols;
      this.rows = size.rows;
    }
    this.around.focus(this.handle, size.cols, size.rows, free, this.before);
    this.before = false;
    this.apply();
  }

  sized(message: Size | Attached): void {
    this.columns = message.columns;
    this.rows = message.rows;
    this.owner = message.owner;
    this.claiming = false;
    if (!message.free) this.offered = false;
    if (!message.free && this.wants === "free") this.wants = "nothing";
    if (message.free && message.type === "size") this.free();
    this.apply();
  }

  /** The size this page would give the session; null while it is not on screen. */
  proposed(): { cols: number; rows: number } | null {
    if (this.element.offsetWidth < 40 || this.element.offsetHeight < 20) return null;
    if (this.term.options.fontSize !== this.look.fontSize) this.term.options.fontSize = this.look.fontSize;
    const size = this.surface.fitter.proposeDimensions();
    if (!size || !Number.isFinite(size.cols) || !Number.isFinite(size.rows)) return null;
    return { cols: Math.min(1000, Math.max(2, size.cols)), rows: Math.min(1000, Math.max(1, size.rows)) };
  }

  /** The room has changed. */
  layout(): void {
    if (this.owner && this.mode === "fit") {
      const size = this.proposed();
      if (size === null) return;
      if (size.cols !== this.columns || size.rows !== this.rows) return this.take();
    }
    this.apply();
  }

  private apply(): void {
    if (this.term.cols !== this.columns || this.term.rows !== this.rows) this.term.resize(this.columns, this.rows);
    const own = this.proposed();
    if (own === null) return;
    const fits = this.owner && this.mode === "fit";
    const shrink = fits ? 1 : Math.min(1, own.cols / this.columns, own.rows / this.rows);
    const smallest = this.mode === "scale" ? SMALLEST_CARD_FONT : SMALLEST_FONT;
    const size = Math.min(this.look.fontSize, Math.max(smallest, Math.floor(this.look.fontSize * shrink * 4) / 4));
    if (this.term.options.fontSize !== size) this.term.options.fontSize = size;
    this.element.classList.toggle("boxed", !fits);
    this.element.classList.toggle("cropped", this.mode === "scale");
    this.follow();
    this.showNote(!fits && this.wants === "nothing" && !this.claiming && this.mode === "fit" && (own.cols !== this.columns || own.rows !== this.rows));
  }

  /** Keep the cursor's line in view where the terminal is larger than its card. */
  private follow(): void {
    const screen = this.mode === "scale" ? this.holder.querySelector<HTMLElement>(".xterm-screen") : null;
    const line = screen ? screen.offsetHeight / this.term.rows : 0;
    const bottom = (this.term.buffer.active.cursorY + 3) * line;
    this.holder.scrollTop = Math.max(0, bottom - this.holder.clientHeight);
    this.holder.scrollLeft = 0;
  }

  private showNote(shown: boolean): void {
    this.note.hidden = !shown;
    if (shown) this.note.textContent = `Sized for another page (${this.columns} × ${this.rows}). Use it here`;
  }

  // --- look ---

  restyle(look: Look): void {
    this.look = look;
    this.surface.restyle(look);
    if (this.owner && this.mode === "fit") this.layout();
    else this.apply();
  }

  dispose(): void {
    if (this.attachedNow) this.around.detach(this.handle);
    this.attachedNow = false;
    this.gone.abort();
    this.term.dispose();
    this.element.remove();
  }
}
