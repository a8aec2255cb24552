/** The ledger's tables in memory: all that the applier asks of a store. */
import type { LedgerStorage } from "@event-anchoring/control-plane";
import {
  type CertificateWrite,
  type ClientEventFact,
  type ClientEventWrite,
  type ContentFact,
  type EntryDecision,
  type Facts,
  type FactsQuery,
  type FoundAnchor,
  type GrantPartiesQuery,
  clientEventKey,
  stateEntriesOf,
  stateLeafOf,
  updateStateTree,
  StatePage,
} from "@event-anchoring/ledger";
import { type ClaimRecord, type GrantRecord, LoadedRecords, claimPairHash } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EMPTY_STATE_ROOT, bytesToHex } from "@event-anchoring/protocol";
import { FIRST_CLIENT } from "../trust/key-ring.ts";
import { type Bugs, NO_BUGS } from "../planted/planted-bugs.ts";

type ClientEvent = FoundAnchor["clientEvent"];

type ThinRequest = Parameters<LedgerStorage["thinCertificates"]>[0];
type Thinned = Awaited<ReturnType<LedgerStorage["thinCertificates"]>>;

interface CertificateRow {
  /** Origin and size. */
  readonly name: string;
  readonly treeSize: number;
  readonly hour: number;
  readonly version: number;
}

const HOUR_S = 3600;
/** A sequence that no leaf has. */
const NOWHERE = -1;

function found<Row>(asked: readonly Uint8Array[], rows: ReadonlyMap<string, Row>): Map<string, Row> {
  const facts = new Map<string, Row>();
  for (const key of asked.map(bytesToHex)) {
    const row = rows.get(key);
    if (row !== undefined) facts.set(key, row);
  }
  return facts;
}

export class SimulatedTables {
  /** By clientEventKey. */
  readonly #clientEvents = new Map<string, ClientEventWrite>();
  readonly #anchors = new Map<string, FoundAnchor>();
  readonly #contents = new Map<string, ContentFact>();
  readonly #claims = new Map<number, ClaimRecord>();
  readonly #grants = new Map<number, GrantRecord>();
  readonly #pairs = new Map<string, number>();
  /** Sequences of claims by lineage, ascending. */
  readonly #lineages = new Map<number, number[]>();
  readonly #between = new Map<string, number>();
  readonly #pages = new Map<string, StatePage>([["", StatePage.empty]]);
  /** By the hex of the origin, ascending by size. */
  readonly #certificates = new Map<string, CertificateRow[]>();
  readonly #thinned: Set<string>;
  readonly #bugs: Bugs;
  /** Root of the state tree. */
  stateRoot: Uint8Array = EMPTY_STATE_ROOT;

  /** @param thinned names of certificates that were deleted */
  constructor(bugs: Bugs = NO_BUGS, thinned: Set<string> = new Set()) {
    this.#bugs = bugs;
    this.#thinned = thinned;
  }

  /** What was asked for and exists, as it is now. */
  facts(query: FactsQuery): Facts {
    return {
      clientEvents: this.#clientEventsOf(query),
      anchors: found([...query.anchors, ...query.records], this.#anchors),
      contents: found(query.contents, this.#contents),
      records: this.#recordsOf(query),
    };
  }

  #clientEventsOf({ clientEvents }: FactsQuery): Map<string, ClientEventFact> {
    const facts = new Map<string, ClientEventFact>();
    for (const { apiClientId, clientEventId } of clientEvents) {
      const key = clientEventKey(apiClientId, clientEventId);
      const known = this.#clientEvents.get(key);
      if (known === undefined) continue;
      const { anchorId, originFingerprint, sequence, contentHash } = known;
      const isErased = this.#anchors.get(bytesToHex(anchorId))?.clientEvent?.isErased !== false;
      facts.set(key, { anchorId, originFingerprint, sequence, contentHash, isErased });
    }
    return facts;
  }

  /**
   * Claims and grants with what they depend on: for a grant its ancestors to the root, both claims of each, and the
   * newest claim of every lineage among them.
   */
  #recordsOf({ records, claimPairs, grantParties }: FactsQuery): LoadedRecords {
    const claims: (ClaimRecord | null)[] = [];
    const chain = new Map<number, GrantRecord>();
    for (const sequence of records.flatMap((anchorId) => this.#sequenceOf(anchorId))) {
      const claim = this.#claim(sequence);
      if (claim !== null) claims.push(claim, this.#newestOf(claim.lineage));
      for (let grant = this.#grant(sequence); grant !== null && !chain.has(grant.sequence);) {
        chain.set(grant.sequence, grant);
        claims.push(this.#claim(grant.grantorClaim), this.#newestOf(grant.grantorLineage));
        claims.push(this.#claim(grant.granteeClaim), this.#newestOf(grant.granteeLineage));
        grant = grant.parent === null ? null : this.#grant(grant.parent);
      }
    }
    const pairs = new Map(
      claimPairs.flatMap((pair) => {
        const newest = this.#claim(this.#pairs.get(bytesToHex(pair)) ?? NOWHERE);
        return newest === null ? [] : [[bytesToHex(pair), newest] as const];
      }),
    );
    const between = grantParties.flatMap((parties) => this.#newestBetween(parties));
    const all = [...claims, ...pairs.values()].filter((claim) => claim !== null);
    return new LoadedRecords(all, [...chain.values(), ...between], pairs);
  }

  #sequenceOf(anchorId: Uint8Array): readonly number[] {
    const anchor = this.#anchors.get(bytesToHex(anchorId));
    return anchor === undefined ? [] : [anchor.sequence];
  }

  #newestOf(lineage: number): ClaimRecord | null {
    return this.#claim(this.#lineages.get(lineage)?.at(-1) ?? NOWHERE);
  }

  #newestBetween({ grantorClaim, granteeClaim }: GrantPartiesQuery): readonly GrantRecord[] {
    const [grantor, grantee] = [grantorClaim, granteeClaim].map((id) =>
      this.#claim(this.#sequenceOf(id)[0] ?? NOWHERE),
    );
    if (!grantor || !grantee) return [];
    const newest = this.#grant(this.#between.get(`${grantor.lineage}:${grantee.lineage}`) ?? NOWHERE);
    return newest === null ? [] : [newest];
  }

  #claim(sequence: number): ClaimRecord | null {
    return this.#withRecorder(this.#claims.get(sequence));
  }

  #grant(sequence: number): GrantRecord | null {
    return this.#withRecorder(this.#grants.get(sequence));
  }

  /** By whom a record was recorded, as it is looked up. */
  #withRecorder<Found extends ClaimRecord | GrantRecord>(record: Found | undefined): Found | null {
    if (record === undefined) return null;
    return this.#bugs.has("recorder_not_looked_up") ? { ...record, recordedBy: FIRST_CLIENT } : record;
  }

  /** Deletes the older certificates of a page whose next larger tree has the same hour and trust root. */
  thinCertificates({ originFingerprint, kept, after, rowsMax }: ThinRequest): Thinned {
    const origin = bytesToHex(originFingerprint);
    const rows = (this.#certificates.get(origin) ?? []).filter(({ name }) => !this.#thinned.has(name));
    const older = rows.slice(0, Math.max(0, rows.length - kept));
    const page = older.filter(({ treeSize }) => treeSize > after).slice(0, rowsMax);
    const gone = page.filter(
      ({ hour, version }, at) => page[at + 1]?.hour === hour && page[at + 1]?.version === version,
    );
    for (const { name } of gone) this.#thinned.add(name);
    const last = page.at(-1);
    return { after: last === undefined ? after : last.treeSize - 1, deleted: gone.length };
  }

  apply(decision: EntryDecision): void {
    const { leaves, clientEvents, contents, certificates, erasures } = decision.writes;
    for (const { anchorId, kind, sequence, originFingerprint, depth } of leaves) {
      this.#anchors.set(bytesToHex(anchorId), { kind, sequence, originFingerprint, depth, clientEvent: null });
    }
    for (const write of clientEvents) {
      this.#clientEvents.set(clientEventKey(write.apiClientId, write.clientEventId), write);
      this.#setClientEvent(write.anchorId, () => ({ apiClientId: write.apiClientId, isErased: false }));
    }
    for (const { contentHash, ...fact } of contents) this.#contents.set(bytesToHex(contentHash), fact);
    for (const write of certificates) this.#addCertificate(write);
    for (const { anchorId } of erasures)
      this.#setClientEvent(anchorId, (found) => found && { ...found, isErased: true });
    this.#applyRecords(decision);
    this.#growStateTree(decision);
  }

  #addCertificate({ originFingerprint, treeSize, certifiedAtS, trustRootVersion: version }: CertificateWrite): void {
    const origin = bytesToHex(originFingerprint);
    const rows = this.#certificates.get(origin) ?? [];
    rows.push({ name: `${origin} ${treeSize}`, treeSize, hour: Math.floor(certifiedAtS / HOUR_S), version });
    this.#certificates.set(origin, rows);
  }

  #growStateTree({ writes }: EntryDecision): void {
    const { sha256 } = nodeCrypto;
    const leaves = stateEntriesOf(writes).map((entry) => stateLeafOf(entry, sha256));
    // Most entries leave the tree as it is: hashing its first page again was 37 % of the hashes of a life.
    if (leaves.length === 0) return;
    const { rootHash, pages } = updateStateTree(this.#pages, leaves, sha256);
    for (const [prefix, page] of pages) this.#pages.set(prefix, page);
    this.stateRoot = rootHash;
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
