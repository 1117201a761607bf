import { expect, test } from "vitest";
import { Cursor } from "../src/cursor";

function at(next: number): Cursor {
  const cursor = new Cursor();
  cursor.attached(0, 0);
  cursor.take(0, next);
  return cursor;
}

test("a first attachment at the beginning clears nothing, one in the middle does", () => {
  expect(new Cursor().attached(0, 0).clear).toBe(false);
  expect(new Cursor().attached(500, 900).clear).toBe(true);
});

test("a reconnect that goes on where we stand clears nothing", () => {
  const cursor = at(100);
  expect(cursor.attached(100, 180)).toEqual({ clear: false });
  expect([cursor.take(100, 80), cursor.next, cursor.liveFrom]).toEqual([0, 180, 180]);
});

test("lost bytes, and a session that began anew, clear the terminal", () => {
  expect(at(100).attached(150, 150).clear).toBe(true);
  expect(at(100).attached(20, 20).clear).toBe(true);
});

test.each([
  ["the next run", 100, 10, 0, 110],
  ["a run said again", 90, 10, 10, 100],
  ["a run that overlaps", 95, 10, 5, 105],
  ["a run after a gap", 101, 10, null, 100],
])("%s", (_, seq, length, known, next) => {
  const cursor = at(100);
  expect([cursor.take(seq, length), cursor.next]).toEqual([known, next]);
});

test("before the attachment nothing is taken", () => expect(new Cursor().take(0, 5)).toBeNull());

test("a resync jumps, and what comes then is live", () => {
  const cursor = at(100);
  cursor.resync(4000);
  expect([cursor.next, cursor.liveFrom, cursor.take(4000, 1)]).toEqual([4000, 4000, 0]);
});
