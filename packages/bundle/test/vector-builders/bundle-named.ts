/** The act that altered bundles are made from. */
import { actOf, singles, statedOf, whole } from "./bundle-cases.ts";
import type { CutBundle } from "./bundle-cases.ts";

/** The bundles that others are made from, by name: whole, and single leaves. Both are stated. */
function namedBundles(): Readonly<Record<"whole" | "singles", CutBundle>> {
  const act = actOf();
  const stated = statedOf(act.world, act.act);
  return { whole: whole(act.world, act.act, { stated }), singles: singles(act, { stated }) };
}

export const NAMED: Readonly<Record<"whole" | "singles", CutBundle>> = namedBundles();

export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
