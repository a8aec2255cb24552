import type { IdentityStorage } from "@event-anchoring/control-plane";
import { type Identity, type IdentityState, StoreError } from "@event-anchoring/store";

const PAIR_ID_BYTES = 16;
const CLUSTER_ID_BYTES = 32;

const NEXT: Readonly<Record<IdentityState, IdentityState | null>> = { new: "paired", paired: "running", running: null };

/** The row that names the database's node. */
export interface IdentityRow {
  load(): Identity | null;
  /** One statement. @param change of what is there when it commits; throws what the statement fails with */
  write(change: (before: Identity | null) => Identity): Promise<void>;
}

function refused(detail: string): StoreError {
  return new StoreError("out_of_order", detail);
}

export function identityStorageOn(row: IdentityRow): IdentityStorage {
  return {
    load: async () => row.load(),
    insert: (identity) =>
      row.write((before) => {
        if (before !== null) throw refused("there is an identity already");
        const { pairId, clusterId } = identity;
        if (pairId.length !== PAIR_ID_BYTES || clusterId.length !== CLUSTER_ID_BYTES) {
          throw refused("the pair id or the cluster id has another length");
        }
        return { ...identity, state: "new" };
      }),
    advance: async (from) => {
      const to = NEXT[from];
      if (to === null) throw refused(`nothing follows the state ${from}`);
      await row.write((before) => {
        if (before?.state !== from) throw refused(`the identity is not ${from}`);
        return { ...before, state: to };
      });
    },
  };
}
