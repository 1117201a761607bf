/** Terminal bytes on the wire (pure): one kind byte, the session's handle, for output the number of the first byte. */

/** Largest run of terminal input in one frame; the host refuses more. */
export const MAX_INPUT = 64 * 1024;

const INPUT = 1;
const OUTPUT = 2;
const INPUT_HEAD = 5;
const OUTPUT_HEAD = 13;

export interface Output {
  session: number;
  seq: number;
  data: Uint8Array;
}

/** Frames with keystrokes for a session, in order, each as large as the host takes. */
export function encodeInput(session: number, data: Uint8Array): Uint8Array<ArrayBuffer>[] {
  const frames: Uint8Array<ArrayBuffer>[] = [];
  for (let at = 0; at < data.length; ) {
    // A full frame says that the next one goes on with the same, so the last one is never full.
    const piece = data.subarray(at, at + MAX_INPUT - (at + MAX_INPUT === data.length ? 1 : 0));
    at += piece.length;
    const frame = new Uint8Array(INPUT_HEAD + piece.length);
    const head = new DataView(frame.buffer);
    head.setUint8(0, INPUT);
    head.setUint32(1, session);
    frame.set(piece, INPUT_HEAD);
    frames.push(frame);
  }
  return frames;
}

/** What a binary message holds; null when it is no output frame. The data is a view, not a copy. */
export function decodeOutput(buffer: ArrayBuffer): Output | null {
  if (buffer.byteLength < OUTPUT_HEAD) return null;
  const head = new DataView(buffer);
  if (head.getUint8(0) !== OUTPUT) return null;
  return {
    session: head.getUint32(1),
    // Exact up to 2^53 bytes: eight petabytes of output.
    seq: Number(head.getBigUint64(5)),
    data: new Uint8Array(buffer, OUTPUT_HEAD),
  };
}
