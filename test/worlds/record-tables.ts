/** The tables of claims and grants as a store would hold them, built from the writes alone. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId, Sha256 } from "@event-anchoring/protocol";
import { LoadedRecords, claimPairHash } from "@event-anchoring/records";
import type { EntryWrites, FactsQuery, RevocationWrite } from "@event-anchoring/ledger";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";

type SequenceOf = (anchorId: AnchorId) => number | null;

export class RecordTables {
  readonly claims = new Map<number, ClaimRecord>();
  readonly grants = new Map<number, GrantRecord>();
  readonly revocations: RevocationWrite[] = [];
  readonly #sha256: Sha256;
  /** Newest claim of each pair and of each lineage, newest grant between two lineages. */
  readonly #pairs = new Map<string, number>();
  readonly #lineages = new Map<number, number>();
  readonly #between = new Map<string, number>();

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  write(writes: EntryWrites): void {
    for (const claim of writes.claims) {
      this.claims.set(claim.sequence, claim);
      this.#pairs.set(bytesToHex(claimPairHash(claim, this.#sha256)), claim.sequence);
      this.#lineages.set(claim.lineage, claim.sequence);
    }
    for (const grant of writes.grants) {
      this.grants.set(grant.sequence, grant);
      this.#between.set(`${grant.grantorLineage}:${grant.granteeLineage}`, grant.sequence);
    }
    for (const { sequence, supersededAt, revokedAt } of writes.endedClaims)
      this.claims.set(sequence, { ...this.claimAt(sequence), supersededAt, revokedAt });
    for (const { sequence, supersededAt, revokedAt } of writes.endedGrants)
      this.grants.set(sequence, { ...this.grantAt(sequence), supersededAt, revokedAt });
    this.revocations.push(...writes.revocations);
  }

  claimAt(sequence: number): ClaimRecord {
    const claim = this.claims.get(sequence);
    if (claim === undefined) throw new Error(`no claim has sequence ${sequence}`);
    return claim;
  }

  grantAt(sequence: number): GrantRecord {
    const grant = this.grants.get(sequence);
    if (grant === undefined) throw new Error(`no grant has sequence ${sequence}`);
    return grant;
  }

  /** Every record with what it depends on, and nothing else. */
  load(query: FactsQuery, sequenceOf: SequenceOf): LoadedRecords {
    const loaded = new Loading(this, (lineage) => this.#newestOf(this.#lineages.get(lineage)));
    const pairs = new Map<string, ClaimRecord>();
    for (const pairHash of query.claimPairs) {
      const key = bytesToHex(pairHash);
      const newest = this.#newestOf(this.#pairs.get(key));
      if (newest !== null) pairs.set(key, newest);
    }
    for (const anchorId of query.records) {
      const sequence = sequenceOf(anchorId);
      if (sequence !== null && this.claims.has(sequence)) loaded.addClaim(sequence);
      if (sequence !== null && this.grants.has(sequence)) loaded.addGrant(sequence);
    }
    for (const { grantorClaim, granteeClaim } of query.grantParties) {
      const between = [grantorClaim, granteeClaim].map((id) => this.claims.get(sequenceOf(id) ?? -1)?.lineage);
      const newest = this.#between.get(between.join(":"));
      if (newest !== undefined) loaded.grants.set(newest, this.grantAt(newest));
    }
    return new LoadedRecords([...loaded.claims.values()], [...loaded.grants.values()], pairs);
  }

  /** Everything there is, asked for or not. */
  everything(): LoadedRecords {
    const pairs = new Map([...this.#pairs].map(([key, sequence]) => [key, this.claimAt(sequence)]));
    return new LoadedRecords([...this.claims.values()], [...this.grants.values()], pairs);
  }

  /** In the order of sequences. */
  rows(): { claims: ClaimRecord[]; grants: GrantRecord[]; revocations: RevocationWrite[] } {
    const { revocations } = this;
    return { claims: [...this.claims.values()], grants: [...this.grants.values()], revocations: [...revocations] };
  }

  #newestOf(sequence: number | undefined): ClaimRecord | null {
    return sequence === undefined ? null : this.claimAt(sequence);
  }
}

class Loading {
  readonly claims = new Map<number, ClaimRecord>();
  readonly grants = new Map<number, GrantRecord>();
  readonly #tables: RecordTables;
  readonly #newestOf: (lineage: number) => ClaimRecord | null;

  constructor(tables: RecordTables, newestOf: (lineage: number) => ClaimRecord | null) {
    this.#tables = tables;
    this.#newestOf = newestOf;
  }

  addClaim(sequence: number): void {
    const claim = this.#tables.claimAt(sequence);
    this.claims.set(sequence, claim);
    const newest = this.#newestOf(claim.lineage);
    if (newest !== null) this.claims.set(newest.sequence, newest);
  }

  addGrant(sequence: number): void {
    for (let at: number | null = sequence; at !== null && !this.grants.has(at);) {
      const grant: GrantRecord = this.#tables.grantAt(at);
      this.grants.set(at, grant);
      this.addClaim(grant.grantorClaim);
      this.addClaim(grant.granteeClaim);
      at = grant.parent;
    }
  }
}
