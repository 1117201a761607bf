/** Which keys the host has not confirmed (pure). One question at a time stands for all that was typed before it. */

/** After a first key so much time passes before the host is asked, so that many keys are one question. */
export const ASK_MS = 250;

/** The host answers at once. One that has not after this long has not got the keys, or cannot say so. */
export const ANSWER_MS = 10_000;

export class Delivery {
  /** Sessions with keys that the open question covers, and with keys that came after it. */
  private asked = new Set<number>();
  private since = new Set<number>();
  private number = 0;

  /** Something was typed into a session. */
  typed(session: number): void {
    this.since.add(session);
  }

  /** Whether there is something to ask about, and no question is open. */
  get due(): boolean {
    return this.asked.size === 0 && this.since.size > 0;
  }

  /** Whether a question is open. */
  get open(): boolean {
    return this.asked.size > 0;
  }

  /** The number of a new question about all that was typed until now. */
  ask(): number {
    [this.asked, this.since] = [this.since, new Set()];
    return ++this.number;
  }

  /** The host has answered; an answer to an earlier connection's question is none. */
  confirmed(number: number): void {
    if (number === this.number) this.asked.clear();
  }

  /** The connection is gone: the sessions with keys that nobody knows to have arrived, which from now on are forgotten. */
  lost(): number[] {
    const sessions = [...new Set([...this.asked, ...this.since])];
    this.asked.clear();
    this.since.clear();
    return sessions;
  }
}
