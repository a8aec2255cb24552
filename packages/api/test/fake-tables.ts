/** The tables of a node, in memory: what was decided goes in, facts and reads come out. They can lag, and fail. */
import { clientEventKey } from "@event-anchoring/ledger";
import { LoadedRecords, RecordBook, claimPairHash } from "@event-anchoring/records";
import type {
  CertificateWrite,
  ClientEventFact,
  ClientEventWrite,
  ContentFact,
  EntryDecision,
  Facts,
  FactsQuery,
  FoundAnchor,
  LeafWrite,
} from "@event-anchoring/ledger";
import type { GrantRecord } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf, equalBytes, interiorHash, isZero } from "@event-anchoring/protocol";
import type { AnchorId, OriginFingerprint, OriginStatus } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { StoreError } from "@event-anchoring/store";
import type { GrantHistoryFilter, StoredAnchor, StoredTrustRootRow } from "@event-anchoring/store";
import type { AnchorReads } from "@event-anchoring/api";

const { sha256 } = nodeCrypto;

interface WrittenClientEvent {
  readonly apiClientId: Uint8Array;
  readonly fact: ClientEventWrite;
  clientEventId: string | null;
  salt: Uint8Array | null;
}

interface WantedParties {
  readonly grantorFingerprint: Uint8Array | null;
  readonly granteeFingerprint: Uint8Array | null;
}

function partiesOf(filter: GrantHistoryFilter): WantedParties {
  if (filter.by === "both") return filter;
  const { by, fingerprint } = filter;
  return {
    grantorFingerprint: by === "grantor" ? fingerprint : null,
    granteeFingerprint: by === "grantee" ? fingerprint : null,
  };
}

export class FakeTables {
  /** By sequence: it is the index. */
  readonly leaves: LeafWrite[] = [];
  appliedIndex = 0;
  /** Thrown by every read, until it is null again. */
  failure: StoreError | null = null;
  /** Selects that still answer as of an earlier applied index: what a lagging table does. */
  staleSelects = 0;
  readonly #byId = new Map<string, LeafWrite>();
  readonly #byOrigin = new Map<string, LeafWrite[]>();
  readonly #records = new RecordBook(sha256);
  readonly #contents = new Map<string, ContentFact>();
  readonly #clientEvents = new Map<string, WrittenClientEvent>();
  readonly #clientEventOf = new Map<string, WrittenClientEvent>();
  readonly #trustRoots: StoredTrustRootRow[] = [];
  readonly #origins = new Map<string, { originFingerprint: OriginFingerprint; status: OriginStatus }>();
  readonly #certificates = new Map<string, CertificateWrite>();

  facts(query: FactsQuery): Facts {
    const clientEvents = new Map<string, ClientEventFact>();
    for (const { apiClientId, clientEventId } of query.clientEvents) {
      const key = clientEventKey(apiClientId, clientEventId);
      const written = this.#clientEvents.get(key);
      if (written !== undefined) clientEvents.set(key, { ...written.fact, isErased: written.clientEventId === null });
    }
    const anchors = new Map<string, FoundAnchor>();
    for (const anchorId of [...query.anchors, ...query.records]) {
      const leaf = this.#find(anchorId);
      const name = bytesToHex(anchorId);
      if (leaf === undefined) continue;
      const event = this.#clientEventOf.get(name);
      const { apiClientId } = event ?? {};
      const clientEvent = apiClientId === undefined ? null : { apiClientId, isErased: event?.clientEventId === null };
      anchors.set(name, { ...leaf, clientEvent });
    }
    return { clientEvents, anchors, contents: this.#contents, records: this.#records };
  }

  #position(): { readonly sequence: number; readonly acceptedMs: number } {
    const last = this.leaves.at(-1);
    return { sequence: last?.sequence ?? -1, acceptedMs: last?.acceptedMs ?? 0 };
  }

  write({ index, writes }: EntryDecision): void {
    this.appliedIndex = index;
    const recorders = new Map([...writes.claims, ...writes.grants].map((one) => [one.sequence, one.recordedBy]));
    for (const leaf of writes.leaves) this.#append(leaf, recorders.get(leaf.sequence) ?? null);
    for (const content of writes.contents) this.#contents.set(bytesToHex(content.contentHash), content);
    for (const fact of writes.clientEvents) {
      const { apiClientId, clientEventId, salt } = fact;
      const written = { apiClientId, clientEventId, salt, fact };
      this.#clientEvents.set(clientEventKey(apiClientId, clientEventId), written);
      this.#clientEventOf.set(bytesToHex(fact.anchorId), written);
    }
    for (const { anchorId } of writes.erasures) this.#erase(anchorId);
    for (const { version, rootThk, sequence, document } of writes.trustRoots) {
      this.#trustRoots.push({ version, rootThk, sequence, document });
    }
    for (const write of writes.originStatuses) this.#origins.set(bytesToHex(write.originFingerprint), write);
    for (const write of writes.certificates) this.recordCertificate(write);
  }

  recordCertificate(write: CertificateWrite): void {
    this.#certificates.set(bytesToHex(write.originFingerprint), write);
  }

  #erase(anchorId: AnchorId): void {
    const written = this.#clientEventOf.get(bytesToHex(anchorId));
    if (written === undefined) throw new Error("nothing to erase");
    written.clientEventId = null;
    written.salt = null;
  }

  #append(write: LeafWrite, recordedBy: Uint8Array | null): void {
    this.leaves.push(write);
    this.#byId.set(bytesToHex(write.anchorId), write);
    const origin = bytesToHex(write.originFingerprint);
    const leaves = this.#byOrigin.get(origin);
    if (leaves === undefined) this.#byOrigin.set(origin, [write]);
    else leaves.push(write);
    const leaf = decodeLeaf(write.bytes);
    const source = { anchorId: write.anchorId, recordedBy };
    if (leaf.kind === LEAF_KIND.claim) this.#records.addClaim(leaf, source);
    if (leaf.kind === LEAF_KIND.grant) {
      const parent = isZero(leaf.parentGrantRef) ? null : this.#grant(leaf.parentGrantRef);
      const parties = {
        grantor: this.#claim(leaf.grantorClaimRef),
        grantee: this.#claim(leaf.granteeClaimRef),
        parent,
      };
      this.#records.addGrant(leaf, source, parties);
    }
    if (leaf.kind === LEAF_KIND.revocation) {
      const target = this.#leaf(leaf.targetAnchorId);
      this.#records.revoke(target.kind === LEAF_KIND.claim ? "claim" : "grant", target.sequence, write.sequence);
    }
  }

  #find(anchorId: Uint8Array): LeafWrite | undefined {
    return this.#byId.get(bytesToHex(anchorId));
  }

  #leaf(anchorId: Uint8Array): LeafWrite {
    const leaf = this.#find(anchorId);
    if (leaf === undefined) throw new Error(`no leaf ${bytesToHex(anchorId)}`);
    return leaf;
  }

  #claim(anchorId: Uint8Array) {
    const claim = this.#records.claim(this.#leaf(anchorId).sequence);
    if (claim === null) throw new Error(`no claim ${bytesToHex(anchorId)}`);
    return claim;
  }

  #grant(anchorId: Uint8Array): GrantRecord {
    const grant = this.#records.grant(this.#leaf(anchorId).sequence);
    if (grant === null) throw new Error(`no grant ${bytesToHex(anchorId)}`);
    return grant;
  }

  leavesOf(origin: OriginFingerprint): readonly LeafWrite[] {
    return this.#byOrigin.get(bytesToHex(origin)) ?? [];
  }

  hashAt(origin: OriginFingerprint, level: number, index: number): Uint8Array {
    if (level === 0) {
      const leaf = this.leavesOf(origin)[index];
      if (leaf === undefined) throw new StoreError("out_of_order", `no leaf ${index}`);
      return leaf.anchorId;
    }
    const left = this.hashAt(origin, level - 1, index * 2);
    return interiorHash(left, this.hashAt(origin, level - 1, index * 2 + 1), sha256);
  }

  #at<T extends object>(found: T): T & { appliedIndex: number } {
    if (this.failure !== null) throw this.failure;
    const isStale = this.staleSelects > 0;
    if (isStale) this.staleSelects -= 1;
    return { ...found, appliedIndex: this.appliedIndex - (isStale ? 1 : 0) };
  }

  #stored(leaf: LeafWrite): StoredAnchor {
    const written = this.#clientEventOf.get(bytesToHex(leaf.anchorId));
    if (written === undefined) return { ...leaf, clientEvent: null };
    const { apiClientId, clientEventId, salt } = written;
    return { ...leaf, clientEvent: { apiClientId, clientEventId, salt, isErased: clientEventId === null } };
  }

  #storedAt(sequence: number): StoredAnchor | null {
    const leaf = this.leaves[sequence];
    return leaf === undefined ? null : this.#stored(leaf);
  }

  readonly reads: AnchorReads = {
    anchors: async (ids) =>
      this.#at({
        anchors: ids.map((id) => {
          const leaf = this.#find(id);
          return leaf === undefined ? null : this.#stored(leaf);
        }),
      }),
    anchorsOfOrigin: async (origin, fromDepth, limit, direction) => {
      const leaves = this.leavesOf(origin);
      const found = direction === "ascending" ? leaves.slice(fromDepth) : leaves.slice(0, fromDepth + 1).toReversed();
      return this.#at({ anchors: found.slice(0, limit).map((leaf) => this.#stored(leaf)) });
    },
    anchorsBySequence: async (sequences) =>
      this.#at({ anchors: sequences.map((sequence) => this.#storedAt(sequence)) }),
    clientEvent: async (apiClientId, clientEventId) => {
      const written = this.#clientEvents.get(clientEventKey(apiClientId, clientEventId));
      const anchor = written === undefined ? null : this.#storedAt(written.fact.sequence);
      return this.#at({ anchor, isErased: anchor?.clientEvent?.isErased ?? false });
    },
    eventsBy: async (filter, afterSequence, limit) => {
      const found = this.leaves.filter((write) => {
        const leaf = decodeLeaf(write.bytes);
        if (write.sequence <= afterSequence) return false;
        if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) return false;
        if (filter.by === "event_hash") return equalBytes(leaf.eventHash, filter.eventHash);
        const { irisRef, grantRef } = leaf.semanticAnchor;
        return this.#find(filter.by === "iris_ref" ? irisRef : grantRef)?.sequence === filter.sequence;
      });
      return this.#at({ anchors: found.slice(0, limit).map((leaf) => this.#stored(leaf)) });
    },
    records: async () =>
      this.#at({ records: new LoadedRecords(this.#records.addedClaims(), this.#records.addedGrants()) }),
    newestClaim: async (entityFingerprint, attributeType) =>
      this.#at({
        claim: this.#records.newestClaimOfPair(claimPairHash({ entityFingerprint, attributeType }, sha256)),
      }),
    grantsBetween: async (grantorFingerprint, granteeFingerprint, limit) => {
      const all = this.#records
        .addedGrants()
        .filter((grant) => equalBytes(grant.grantorFingerprint, grantorFingerprint))
        .filter((grant) => equalBytes(grant.granteeFingerprint, granteeFingerprint));
      const grants = all
        .filter(({ supersededAt, revokedAt }) => supersededAt === null && revokedAt === null)
        .toSorted((a, b) => a.grantorLineage - b.grantorLineage || a.granteeLineage - b.granteeLineage);
      return this.#at({ ...this.#position(), grants: grants.slice(0, limit), newest: all.at(-1) ?? null });
    },
    claimHistory: async ({ entityFingerprint, attributeType }, afterSequence, limit) => {
      const claims = this.#records
        .addedClaims()
        .filter((claim) => equalBytes(claim.entityFingerprint, entityFingerprint))
        .filter((claim) => attributeType === null || claim.attributeType === attributeType)
        .filter(({ sequence }) => sequence > afterSequence);
      return this.#at({ ...this.#position(), claims: claims.slice(0, limit) });
    },
    grantHistory: async (filter, afterSequence, limit) => {
      const { grantorFingerprint, granteeFingerprint } = partiesOf(filter);
      const grants = this.#records
        .addedGrants()
        .filter((grant) => grantorFingerprint === null || equalBytes(grant.grantorFingerprint, grantorFingerprint))
        .filter((grant) => granteeFingerprint === null || equalBytes(grant.granteeFingerprint, granteeFingerprint))
        .filter(({ sequence }) => sequence > afterSequence);
      return this.#at({ ...this.#position(), grants: grants.slice(0, limit) });
    },
    grantsTo: async (granteeLineage, { sequence: upTo, timeMs }, limit) => {
      const grants = this.#records
        .addedGrants()
        .filter((grant) => grant.granteeLineage === granteeLineage && grant.sequence <= upTo)
        .filter(({ supersededAt, revokedAt }) => (supersededAt ?? upTo + 1) > upTo && (revokedAt ?? upTo + 1) > upTo)
        .filter(({ notBefore, expiresAt }) => notBefore <= timeMs && (expiresAt === 0 || timeMs < expiresAt));
      return this.#at({ grants: grants.slice(0, limit) });
    },
    revocationsOf: async (targets, upTo, limit) => {
      const revocations = this.leaves.filter((write) => {
        const leaf = decodeLeaf(write.bytes);
        if (leaf.kind !== LEAF_KIND.revocation || write.sequence > upTo) return false;
        return targets.includes(this.#leaf(leaf.targetAnchorId).sequence);
      });
      return this.#at({ revocations: revocations.slice(0, limit).map((leaf) => this.#stored(leaf)) });
    },
    proofHashes: async () =>
      this.#at({
        hashAt: (origin: OriginFingerprint) => (level: number, index: number) => this.hashAt(origin, level, index),
      }),
    tileHashes: async (origin, { level, index, width }) =>
      this.#at({
        hashes: Buffer.concat(
          Array.from({ length: width }, (_, at) => this.hashAt(origin, level * 8, index * 256 + at)),
        ),
      }),
    latestCertificate: async (origin, options?: { readonly atLeastSize?: number }) => {
      const atLeastSize = options?.atLeastSize ?? 0;
      const certificate = this.#certificates.get(bytesToHex(origin)) ?? null;
      return this.#at({ certificate: (certificate?.treeSize ?? 0) < atLeastSize ? null : certificate });
    },
    position: async () => this.#at(this.#position()),
    sequenceAtOrBefore: async (timeMs) => {
      const before = this.leaves.filter((leaf) => leaf.acceptedMs <= timeMs);
      return this.#at({ sequence: before.at(-1)?.sequence ?? null });
    },
    acceptedMsOf: async (sequence) => this.#at({ acceptedMs: this.leaves[sequence]?.acceptedMs ?? null }),
    trustRoots: async () => this.#at({ trustRoots: [...this.#trustRoots] }),
    origins: async () =>
      this.#at({
        origins: [...this.#origins.values()]
          .toSorted((a, b) => Buffer.compare(a.originFingerprint, b.originFingerprint))
          .map(({ originFingerprint, status }) => {
            const leaves = this.leavesOf(originFingerprint);
            return {
              originFingerprint,
              status,
              treeSize: leaves.length,
              lastAnchorId: leaves.at(-1)?.anchorId ?? null,
            };
          }),
      }),
  };
}
