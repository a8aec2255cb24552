/** What an answer shows of a delegation. docs/PROTOCOL.md, "Tracing". */
import { equalBytes } from "@event-anchoring/protocol";
import type { LoadedLeaf } from "./anchor-checks.ts";
import { RecordStates, chainOf } from "../force/chain-force.ts";
import type { AsOf } from "../book/as-of.ts";
import type { RecordState } from "../force/in-force.ts";
import type { LeafRows } from "./leaf-rows.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";

/** What a trace shows at most. The rest is counted, and judged too. */
export const TRACE_LIMITS = {
  /** Hops of the delegation, from the leaf grant on. */
  delegationMax: 1_000,
  possibleParentsMax: 100,
} as const;

/** A claim or a grant as a trace shows it. */
export interface ShownRecord extends LoadedLeaf {
  /** As of the requested position. */
  readonly state: RecordState;
}

/** One hop of the delegation, from the grant the event names towards the root. */
export interface DelegationHop {
  readonly grant: ShownRecord;
  readonly grantorClaim: ShownRecord;
  readonly granteeClaim: ShownRecord;
  readonly witnessPublicKey: Uint8Array;
  readonly witnessIsGrantee: boolean;
}

/** From the leaf grant to the root. */
export interface TracedDelegation {
  readonly hops: readonly DelegationHop[];
  /** Links towards the root that are not shown. */
  readonly omitted: number;
}

/** Shows a record by its leaf; null if the leaf is missing or contradicts it. */
export class RecordViewer {
  readonly #leaves: LeafRows;
  readonly #records: Records;
  readonly #states: RecordStates;

  constructor(leaves: LeafRows, records: Records, at: AsOf) {
    this.#leaves = leaves;
    this.#records = records;
    this.#states = new RecordStates(records, at);
  }

  #leafOf(record: ClaimRecord | GrantRecord): LoadedLeaf | null {
    const row = this.#leaves.at(record.sequence);
    return row !== null && equalBytes(row.anchorId, record.anchorId) ? row : null;
  }

  claim(record: ClaimRecord | null): ShownRecord | null {
    const leaf = record === null ? null : this.#leafOf(record);
    if (record === null || leaf === null) return null;
    return { anchorId: leaf.anchorId, bytes: leaf.bytes, state: this.#states.claim(record) };
  }

  hop(record: GrantRecord): DelegationHop | null {
    const leaf = this.#leafOf(record);
    const granteeRecord = this.#records.claim(record.granteeClaim);
    const grantorClaim = this.claim(this.#records.claim(record.grantorClaim));
    const granteeClaim = this.claim(granteeRecord);
    if (leaf === null || granteeRecord === null || grantorClaim === null || granteeClaim === null) return null;
    return {
      grant: { anchorId: leaf.anchorId, bytes: leaf.bytes, state: this.#states.grant(record) },
      grantorClaim,
      granteeClaim,
      witnessPublicKey: record.witnessPublicKey,
      witnessIsGrantee: equalBytes(record.witnessPublicKey, granteeRecord.subjectPublicKey),
    };
  }
}

/**
 * The delegation that ends in a grant.
 * @param rows the rows that recordsInView names
 */
export function traceDelegation(
  grant: GrantRecord,
  rows: { readonly records: Records; readonly leaves: LeafRows },
  at: AsOf,
): TracedDelegation {
  const viewer = new RecordViewer(rows.leaves, rows.records, at);
  const { links } = chainOf(grant, rows.records);
  const hops: DelegationHop[] = [];
  for (const link of links.slice(0, TRACE_LIMITS.delegationMax)) {
    const hop = viewer.hop(link);
    // A hop after one that cannot be shown would look like its neighbour.
    if (hop === null) break;
    hops.push(hop);
  }
  return { hops, omitted: links.length - hops.length };
}
