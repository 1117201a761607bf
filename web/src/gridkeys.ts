/** The keyboard among the cards of the grid (pure): which card a key leads to. */

export interface Place {
  left: number;
  top: number;
}

/** The number of the card that a key leads to from card `from`; null: it is no key of the grid, or leads nowhere. */
export function cardFor(key: string, places: Place[], from: number): number | null {
  const here = places[from];
  if (here === undefined) return null;
  switch (key) {
    case "ArrowLeft": return from > 0 ? from - 1 : null;
    case "ArrowRight": return from + 1 < places.length ? from + 1 : null;
    case "Home": return 0;
    case "End": return places.length - 1;
    case "ArrowUp": return nearest(places, here, (top) => top < here.top, (a, b) => b - a);
    case "ArrowDown": return nearest(places, here, (top) => top > here.top, (a, b) => a - b);
    default: return null;
  }
}

/** The card of the next row, as `order` has rows, that begins nearest to where this one does. */
function nearest(places: Place[], here: Place, beyond: (top: number) => boolean, order: (a: number, b: number) => number): number | null {
  const [row] = places.map((place) => place.top).filter(beyond).sort(order);
  let found: number | null = null;
  for (const [number, place] of places.entries()) {
    const distance = Math.abs(place.left - here.left);
    if (place.top === row && (found === null || distance < Math.abs((places[found] as Place).left - here.left))) found = number;
  }
  return found;
}
