import { expect, test } from "vitest";
import { cardFor } from "../src/gridkeys";

// 0 1 2
// 3 4
const places = [0, 430, 860, 0, 430].map((left, number) => ({ left, top: number < 3 ? 0 : 270 }));

test.each([
  ["ArrowRight", 0, 1], ["ArrowRight", 2, 3], ["ArrowRight", 4, null], ["ArrowLeft", 3, 2], ["ArrowLeft", 0, null],
  ["ArrowDown", 1, 4], ["ArrowDown", 2, 4], ["ArrowDown", 3, null], ["ArrowUp", 4, 1], ["ArrowUp", 1, null],
  ["Home", 4, 0], ["End", 0, 4], ["x", 0, null], ["Enter", 0, null],
] as const)("%s from card %i", (key, from, to) => expect(cardFor(key, places, from)).toBe(to));

test("a column of cards", () => {
  const column = [0, 270, 540].map((top) => ({ left: 0, top }));
  expect([cardFor("ArrowDown", column, 0), cardFor("ArrowDown", column, 1), cardFor("ArrowUp", column, 2)]).toEqual([1, 2, 1]);
  expect(cardFor("ArrowDown", [], 0)).toBe(null);
});
