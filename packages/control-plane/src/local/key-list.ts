import type { CallerKey } from "@event-anchoring/control-contract";
import type { ApiKey, LedgerState } from "@event-anchoring/ledger";

const LISTS = new WeakMap<LedgerState["apiKeys"], readonly ApiKey[]>();

/**
 * The key table of a state: the same object until it changes, so that the local link sends it once. A key that changes
 * is replaced in the state, never altered, so a look at every key is enough.
 */
export function keyListOf({ apiKeys }: Pick<LedgerState, "apiKeys">): readonly CallerKey[] {
  const known = LISTS.get(apiKeys);
  if (known !== undefined && isSame(known, apiKeys)) return known;
  const list = [...apiKeys.values()];
  LISTS.set(apiKeys, list);
  return list;
}

function isSame(list: readonly ApiKey[], apiKeys: LedgerState["apiKeys"]): boolean {
  if (list.length !== apiKeys.size) return false;
  let at = 0;
  for (const key of apiKeys.values()) if (list[at++] !== key) return false;
  return true;
}
