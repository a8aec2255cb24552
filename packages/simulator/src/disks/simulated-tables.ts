/** The ledger's tables in memory: all that the applier asks of a store. */
import {
  type ClientEventFact,
  type ClientEventWrite,
  type ContentWrite,
  type EntryDecision,
  type Facts,
  type FactsQuery,
  type FoundAnchor,
  EMPTY_STATE_PAGE,
  type StatePage,
  clientEventKey,
  stateEntriesOf,
  stateLeafOf,
  updateStateTree,
} from "@event-anchoring/ledger";
import { type ClaimRecord, type GrantRecord, type RecordIndex, claimPairHash } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EMPTY_STATE_ROOT, bytesToHex } from "@event-anchoring/protocol";
import { FIRST_CLIENT } from "../trust/key-ring.ts";
import { type Bugs, NO_BUGS } from "../planted/planted-bugs.ts";

type ClientEvent = FoundAnchor["clientEvent"];

export class SimulatedTables implements RecordIndex {
  /** By clientEventKey. */
  readonly clientEvents = new Map<string, ClientEventWrite>();
  readonly #anchors = new Map<string, FoundAnchor>();
  readonly #contents = new Map<string, ContentWrite>();
  readonly #claims = new Map<number, ClaimRecord>();
  readonly #grants = new Map<number, GrantRecord>();
  readonly #pairs = new Map<string, number>();
  /** Sequences of claims by lineage, ascending. */
  readonly #lineages = new Map<number, number[]>();
  readonly #between = new Map<string, number>();
  readonly #pages = new Map<string, StatePage>([["", EMPTY_STATE_PAGE]]);
  readonly #bugs: Bugs;
  /** Of the state tree. */
  stateRoot: Uint8Array = EMPTY_STATE_ROOT;

  constructor(bugs: Bugs = NO_BUGS) {
    this.#bugs = bugs;
  }

  facts(query: FactsQuery): Facts {
    const clientEvents = new Map<string, ClientEventFact>();
    for (const { apiClientId, clientEventId } of query.clientEvents) {
      const key = clientEventKey(apiClientId, clientEventId);
      const found = this.clientEvents.get(key);
      if (found === undefined) continue;
      const isErased = this.#anchors.get(bytesToHex(found.anchorId))?.clientEvent?.isErased !== false;
      clientEvents.set(key, { ...found, isErased });
    }
    return { clientEvents, anchors: this.#anchors, contents: this.#contents, records: this };
  }

  /** By whom a record was recorded, as it is looked up. */
  #withRecorder<Found extends ClaimRecord | GrantRecord>(record: Found | undefined): Found | null {
    if (record === undefined) return null;
    return this.#bugs.has("recorder_not_looked_up") ? { ...record, recordedBy: FIRST_CLIENT } : record;
  }

  apply(decision: EntryDecision): void {
    const { leaves, clientEvents, contents, erasures } = decision.writes;
    for (const { anchorId, ...leaf } of leaves) {
      this.#anchors.set(bytesToHex(anchorId), { ...leaf, clientEvent: null });
    }
    for (const write of clientEvents) {
      this.clientEvents.set(clientEventKey(write.apiClientId, write.clientEventId), write);
      this.#setClientEvent(write.anchorId, () => ({ apiClientId: write.apiClientId, isErased: false }));
    }
    for (const write of contents) this.#contents.set(bytesToHex(write.contentHash), write);
    for (const { anchorId } of erasures)
      this.#setClientEvent(anchorId, (found) => found && { ...found, isErased: true });
    this.#applyRecords(decision);
    this.#growStateTree(decision);
  }

  #growStateTree({ writes }: EntryDecision): void {
    const { sha256 } = nodeCrypto;
    const leaves = stateEntriesOf(writes).map((entry) => stateLeafOf(entry, sha256));
    const { rootHash, pages } = updateStateTree(this.#pages, leaves, sha256);
    for (const [prefix, page] of pages) this.#pages.set(prefix, page);
    this.stateRoot = rootHash;
  }

  claim(sequence: number): ClaimRecord | null {
    return this.#withRecorder(this.#claims.get(sequence));
  }

  grant(sequence: number): GrantRecord | null {
    return this.#withRecorder(this.#grants.get(sequence));
  }

  newestClaimOf(lineage: number, upTo: number): ClaimRecord | null {
    const newest = this.#lineages.get(lineage)?.findLast((sequence) => sequence <= upTo);
    return newest === undefined ? null : this.claim(newest);
  }

  newestClaimOfPair(pairHash: Uint8Array): ClaimRecord | null {
    return this.claim(this.#pairs.get(bytesToHex(pairHash)) ?? -1);
  }

  newestGrantBetween(grantorLineage: number, granteeLineage: number): GrantRecord | null {
    return this.grant(this.#between.get(`${grantorLineage}:${granteeLineage}`) ?? -1);
  }

  #applyRecords({ writes }: EntryDecision): void {
    for (const claim of writes.claims) {
      this.#claims.set(claim.sequence, claim);
      this.#pairs.set(bytesToHex(claimPairHash(claim, nodeCrypto.sha256)), claim.sequence);
      const lineage = this.#lineages.get(claim.lineage);
      if (lineage === undefined) this.#lineages.set(claim.lineage, [claim.sequence]);
      else lineage.push(claim.sequence);
    }
    for (const grant of writes.grants) {
      this.#grants.set(grant.sequence, grant);
      this.#between.set(`${grant.grantorLineage}:${grant.granteeLineage}`, grant.sequence);
    }
    for (const claim of writes.endedClaims) this.#claims.set(claim.sequence, this.#asKept(claim));
    for (const grant of writes.endedGrants) this.#grants.set(grant.sequence, this.#asKept(grant));
  }

  #asKept<Ended extends ClaimRecord | GrantRecord>(record: Ended): Ended {
    return this.#bugs.has("revocation_leaves_no_mark") ? { ...record, revokedAt: null } : record;
  }

  #setClientEvent(anchorId: Uint8Array, after: (before: ClientEvent) => ClientEvent): void {
    const key = bytesToHex(anchorId);
    const anchor = this.#anchors.get(key);
    if (anchor === undefined) throw new Error(`no anchor ${key}`);
    this.#anchors.set(key, { ...anchor, clientEvent: after(anchor.clientEvent) });
  }
}
