import type { RaftId } from "raft-ts";
import { loadRestoration } from "../tables/restoration.ts";
import type { Restoration } from "../tables/restoration.ts";
import { Connection } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";
import { assertMigrated } from "../postgres/migrate.ts";
import { raftIdFromSigned, raftIdToSigned } from "./raft-codec.ts";

/**
 * `new` → `paired` (committed before the promise file is first written) → `running`. A missing promise file is a
 * forgotten promise only for a `running` node.
 */
export type IdentityState = "new" | "paired" | "running";

/** Which node this database belongs to. Everything but the state is written once. */
export interface Identity {
  readonly state: IdentityState;
  /** 16 random bytes that are also in the promise file, so that a wrong pair is noticed. */
  readonly pairId: Uint8Array;
  readonly nodeId: string;
  /** 32 bytes. */
  readonly clusterId: Uint8Array;
  readonly raftId: RaftId;
}

interface IdentityRow {
  readonly state: IdentityState;
  readonly pair_id: Uint8Array;
  readonly node_id: string;
  readonly cluster_id: Uint8Array;
  readonly raft_id: string;
}

const NEXT: Readonly<Record<IdentityState, IdentityState | null>> = {
  new: "paired",
  paired: "running",
  running: null,
};

/** The identity row. Every change is durable when its promise resolves. */
export class IdentityStore {
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** @throws StoreError `unavailable`, `schema` */
  static async open(options: { readonly url: string }): Promise<IdentityStore> {
    const connection = await Connection.open({
      url: options.url,
      name: "event-anchoring identity",
      settings: { synchronous_commit: "on" },
    });
    try {
      await assertMigrated(connection);
    } catch (cause) {
      await connection.close();
      throw cause;
    }
    return new IdentityStore(connection);
  }

  /** null: this database has never belonged to a node. */
  async load(): Promise<Identity | null> {
    const rows = await this.#connection.read<IdentityRow>({
      text: "SELECT state, pair_id, node_id, cluster_id, raft_id::text AS raft_id FROM node.identity",
    });
    const row = rows[0];
    if (row === undefined) return null;
    return {
      state: row.state,
      pairId: row.pair_id,
      nodeId: row.node_id,
      clusterId: row.cluster_id,
      raftId: raftIdFromSigned(row.raft_id),
    };
  }

  /** @throws StoreError `out_of_order` if there is an identity already, `unknown_outcome` */
  async insert(identity: Omit<Identity, "state">): Promise<void> {
    await this.#connection.write(
      {
        text: `INSERT INTO node.identity (state, pair_id, node_id, cluster_id, raft_id)
          VALUES ('new', $1, $2, $3, $4)`,
      },
      [identity.pairId, identity.nodeId, identity.clusterId, raftIdToSigned(identity.raftId)],
    );
  }

  /** To the next state. @throws StoreError `out_of_order` unless `from` is the state stored, `unknown_outcome` */
  async advance(from: IdentityState): Promise<void> {
    const to = NEXT[from];
    if (to === null) throw new StoreError("out_of_order", `nothing follows the state ${from}`);
    const rows = await this.#connection.write(
      { text: "UPDATE node.identity SET state = $2 WHERE state = $1 RETURNING state" },
      [from, to],
    );
    if (rows.length !== 1) throw new StoreError("out_of_order", `the identity is not ${from}`);
  }

  /** Which backup this database began from; null: none. @throws StoreError `corrupt` */
  async loadRestoration(): Promise<Restoration | null> {
    return loadRestoration(this.#connection);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}
