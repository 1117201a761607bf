import { expect, test } from "vitest";
import { Delivery } from "../src/delivery";

test("one question stands for all that was typed before it", () => {
  const delivery = new Delivery();
  expect([delivery.due, delivery.open]).toEqual([false, false]);
  delivery.typed(1);
  delivery.typed(1);
  expect([delivery.due, delivery.open]).toEqual([true, false]);
  const number = delivery.ask();
  delivery.typed(2);
  expect([delivery.due, delivery.open]).toEqual([false, true]);
  delivery.confirmed(number);
  expect([delivery.due, delivery.open]).toEqual([true, false]);
  expect(delivery.lost()).toEqual([2]);
  expect([delivery.lost(), delivery.due]).toEqual([[], false]);
});

test("what is lost is told once for each session", () => {
  const delivery = new Delivery();
  delivery.typed(1);
  delivery.ask();
  delivery.typed(1);
  delivery.typed(3);
  expect(delivery.lost()).toEqual([1, 3]);
});
