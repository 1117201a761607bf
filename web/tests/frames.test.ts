import { expect, test } from "vitest";
import { decodeOutput, encodeInput, MAX_INPUT } from "../src/frames";

function output(kind: number, session: number, seq: bigint, text: string): ArrayBuffer {
  const buffer = new ArrayBuffer(13 + text.length);
  const view = new DataView(buffer);
  view.setUint8(0, kind);
  view.setUint32(1, session);
  view.setBigUint64(5, seq);
  new Uint8Array(buffer, 13).set(new TextEncoder().encode(text));
  return buffer;
}

test("input: kind, handle, bytes", () => {
  expect([...(encodeInput(258, new Uint8Array([65, 66]))[0] ?? [])]).toEqual([1, 0, 0, 1, 2, 65, 66]);
});

test("input above the limit is cut, in order, without loss", () => {
  const data = new Uint8Array(MAX_INPUT * 2 + 3).map((_, i) => i % 251);
  const frames = encodeInput(1, data);
  expect(frames.map((f) => f.length - 5)).toEqual([MAX_INPUT, MAX_INPUT, 3]);
  expect(frames.flatMap((f) => [...f.subarray(5)])).toEqual([...data]);
});

test("only a frame that is followed by another is full", () => {
  const frames = encodeInput(1, new Uint8Array(MAX_INPUT * 2));
  expect(frames.map((f) => f.length - 5)).toEqual([MAX_INPUT, MAX_INPUT - 1, 1]);
});

test("nothing typed is no frame", () => expect(encodeInput(1, new Uint8Array())).toEqual([]));

test("output: handle, number of the first byte, bytes", () => {
  const got = decodeOutput(output(2, 7, 2n ** 40n, "hey"));
  expect(got && [got.session, got.seq, new TextDecoder().decode(got.data)]).toEqual([7, 2 ** 40, "hey"]);
});

test.each([["another kind", output(1, 1, 0n, "x")], ["too short", new ArrayBuffer(12)]])("no output frame: %s", (_, buffer) => {
  expect(decodeOutput(buffer)).toBeNull();
});
