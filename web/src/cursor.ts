/**
 * Where this page stands in one session's output (pure). Bytes are numbered since the session began; each is shown once
 * and in order, whatever reconnects lie between.
 */

export interface Arrival {
  /** A terminal that shows something else must be cleared first. */
  clear: boolean;
}

export class Cursor {
  private nextByte: number | null = null;
  private live = 0;

  /** The next byte to ask for; null before the first attachment. */
  get next(): number | null {
    return this.nextByte;
  }

  /** Bytes before this number are replay. */
  get liveFrom(): number {
    return this.live;
  }

  /** The host goes on at byte `seq`. */
  attached(seq: number, liveSeq: number): Arrival {
    const clear = this.nextByte !== seq && (this.nextByte !== null || seq > 0);
    this.nextByte = seq;
    this.live = liveSeq;
    return { clear };
  }

  /** The host jumped to byte `seq`; what lies between is lost. */
  resync(seq: number): void {
    this.nextByte = seq;
    this.live = Math.max(this.live, seq);
  }

  /**
   * How many bytes of this run are known already; null when bytes before it are missing, and nothing was taken. After a
   * number, the rest of the run counts as shown.
   */
  take(seq: number, length: number): number | null {
    if (this.nextByte === null || seq > this.nextByte) return null;
    const known = Math.min(this.nextByte - seq, length);
    this.nextByte = Math.max(this.nextByte, seq + length);
    return known;
  }
}
