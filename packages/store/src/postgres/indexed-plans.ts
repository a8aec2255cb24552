/**
 * Every look-up of ours uses an index. Tables that were filled a moment ago have no statistics, and a planner that
 * believes them empty would scan them whole, or gather all that an index finds when only the newest is asked for. Plans
 * are made once: they do not depend on the values.
 */
export const INDEXED_PLANS = {
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_material: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  plan_cache_mode: "force_generic_plan",
  jit: "off",
} as const;
