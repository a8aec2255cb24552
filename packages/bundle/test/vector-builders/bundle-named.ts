/** The act that altered bundles are made from. */
import { actOf, short, singles, statedOf, whole } from "./bundle-cases.ts";
import type { BundleName, CutBundle } from "./bundle-cases.ts";
import { disclosed, refunds, scopeOf } from "./scopes.ts";
import type { Scope } from "../../src/index.ts";

/** What the upper grant allows. */
export const UPPER_SCOPE = scopeOf(
  { actions: ["refund", "read_order", "close_account"], region: ["DE", "FR"] },
  "upper",
);

/** What the lower grant allows. */
export const LOWER_SCOPE = refunds();

/** The same bundle with disclosures. */
export function withScopes({ bundle, world }: CutBundle, scopes: readonly Scope[]): CutBundle {
  return { world, bundle: { ...bundle, scopes } };
}

/** Two of five statements of the lower grant are disclosed. */
function scopedBundle(): CutBundle {
  const { world, act } = actOf({ scopes: { upper: UPPER_SCOPE.scopeHash, lower: LOWER_SCOPE.scopeHash } });
  return withScopes(short(world, act), [disclosed(LOWER_SCOPE, "actions", "max_amount")]);
}

/** All of them but the last are stated. */
function namedBundles(): Readonly<Record<BundleName, CutBundle>> {
  const act = actOf();
  const stated = statedOf(act.world, act.act);
  return {
    whole: whole(act.world, act.act, { stated }),
    singles: singles(act, { stated }),
    state: short(act.world, act.act, { stated }),
    scoped: scopedBundle(),
  };
}

export const NAMED: Readonly<Record<BundleName, CutBundle>> = namedBundles();

export function itemAt<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}
