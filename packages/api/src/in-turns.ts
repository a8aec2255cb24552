import { setImmediate as nextTurn } from "node:timers/promises";

/** How long one request keeps the loop before others have their turn. */
const TURN_MS = 10;

/** As `map` of a list, for long ones: whatever else waits for this process is served in between. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item, index: number) => Result,
): Promise<Result[]> {
  const results: Result[] = [];
  let sinceMs = performance.now();
  for (const [index, item] of items.entries()) {
    results.push(map(item, index));
    if (performance.now() - sinceMs < TURN_MS) continue;
    await nextTurn();
    sinceMs = performance.now();
  }
  return results;
}
