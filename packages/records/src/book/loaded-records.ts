import { bytesToHex } from "@event-anchoring/protocol";
import type { ClaimRecord, GrantRecord, RecordIndex } from "./records.ts";

/** Loaded records: a record that is not among them may still exist. */
export class LoadedRecords implements RecordIndex {
  readonly #claims: ReadonlyMap<number, ClaimRecord>;
  readonly #grants: ReadonlyMap<number, GrantRecord>;
  /** By lineage, descending by sequence. */
  readonly #lineages = new Map<number, ClaimRecord[]>();
  readonly #pairs: ReadonlyMap<string, ClaimRecord>;
  readonly #between = new Map<string, GrantRecord>();

  /** @param pairs the newest claim of each pair that was asked for, by the hex of its claimPairHash */
  constructor(
    claims: readonly ClaimRecord[],
    grants: readonly GrantRecord[],
    pairs: ReadonlyMap<string, ClaimRecord> = new Map(),
  ) {
    this.#claims = new Map(claims.map((claim) => [claim.sequence, claim]));
    this.#grants = new Map(grants.map((grant) => [grant.sequence, grant]));
    this.#pairs = pairs;
    for (const claim of [...this.#claims.values()].sort((a, b) => b.sequence - a.sequence)) {
      const links = this.#lineages.get(claim.lineage);
      if (links === undefined) this.#lineages.set(claim.lineage, [claim]);
      else links.push(claim);
    }
    for (const grant of grants) {
      const key = `${grant.grantorLineage}:${grant.granteeLineage}`;
      const known = this.#between.get(key);
      if (known === undefined || known.sequence < grant.sequence) this.#between.set(key, grant);
    }
  }

  claim(sequence: number): ClaimRecord | null {
    return this.#claims.get(sequence) ?? null;
  }

  grant(sequence: number): GrantRecord | null {
    return this.#grants.get(sequence) ?? null;
  }

  newestClaimOf(lineage: number, upTo: number): ClaimRecord | null {
    return this.#lineages.get(lineage)?.find(({ sequence }) => sequence <= upTo) ?? null;
  }

  newestClaimOfPair(pairHash: Uint8Array): ClaimRecord | null {
    return this.#pairs.get(bytesToHex(pairHash)) ?? null;
  }

  newestGrantBetween(grantorLineage: number, granteeLineage: number): GrantRecord | null {
    return this.#between.get(`${grantorLineage}:${granteeLineage}`) ?? null;
  }
}
