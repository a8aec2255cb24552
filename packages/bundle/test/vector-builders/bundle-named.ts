/** The act that altered bundles are made from. */
import { actOf, short, singles, statedOf, whole } from "./bundle-cases.ts";
import type { BundleName, CutBundle } from "./bundle-cases.ts";

/** All of them are stated. */
function namedBundles(): Readonly<Record<BundleName, CutBundle>> {
  const act = actOf();
  const stated = statedOf(act.world, act.act);
  return {
    whole: whole(act.world, act.act, { stated }),
    singles: singles(act, { stated }),
    state: short(act.world, act.act, { stated }),
  };
}

export const NAMED: Readonly<Record<BundleName, CutBundle>> = namedBundles();

export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
