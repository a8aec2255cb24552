/**
 * A ledger of one origin that is written leaf by leaf, without being decided: it can hold what no ledger would accept.
 * Records are derived from the leaves, and may be altered afterwards, as in a table that somebody has written to.
 */
import {
  LEAF_KIND,
  RecentTree,
  ZERO_32,
  anchorIdOf,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  decodeLeaf,
  emptyFrontier,
  encodeLeaf,
  equalBytes,
  formatCheckpoint,
  formatNote,
  isZero,
  noteMessage,
  noteSignatureLine,
  clientRevoker,
} from "@event-anchoring/protocol";
import type { AnchorId, Leaf, LeafHeader, Receipt, TrustRootChain } from "@event-anchoring/protocol";
import { LoadedRecords, RecordBook, leavesInView, recordsInView, targetsInView } from "../src/index.ts";
import type { RecordEvidence } from "../src/judge/verify-claim.ts";
import type { AnchorEvidence, AnchorFact, AsOf, ClaimRecord, GrantRecord, TraceInput } from "../src/index.ts";
import type { EventInput, LeafWrite } from "@event-anchoring/ledger";
import { CLUSTER_NAME, NODE_A, NODE_B, certify, sha256 } from "../../../test/worlds/cluster.ts";
import type { TestNode } from "../../../test/worlds/cluster.ts";
import { CLIENT_ID, LedgerHarness, event } from "../../../test/worlds/ledger-harness.ts";
import { claim, grant } from "../../../test/worlds/signed-records.ts";
import type { ClaimOptions, GrantOptions, Party } from "../../../test/worlds/signed-records.ts";

/** The note over a tree of origin A: its log line, and a cosignature of each of these nodes. */
export function noteOver(tree: RecentTree, cosigners: readonly TestNode[]): string {
  const { originFingerprint } = NODE_A;
  const treeSize = tree.size;
  const rootHash = tree.rootAt(treeSize);
  const origin = checkpointOrigin(CLUSTER_NAME, originFingerprint);
  const text = formatCheckpoint({ origin, treeSize, rootHash });
  const head = { originFingerprint, treeSize, rootHash };
  const lines = cosigners.map((node) => {
    const [cosignature] = certify(head, [[node, 1_700_000_000]]).cosignatures;
    if (cosignature === undefined) throw new Error("no cosignature");
    const name = `${CLUSTER_NAME}/node/${node.nodeId}`;
    return cosignatureLine({ ...cosignature, name, publicKey: node.cosigner.publicKey }, sha256);
  });
  const signature = NODE_A.log.sign(noteMessage(text));
  return formatNote(text, [
    noteSignatureLine({ name: origin, publicKey: NODE_A.log.publicKey, signature }, sha256),
    ...lines,
  ]);
}

export interface RevokeOptions {
  readonly suspectSince?: number;
  /** False: the record of the target is left as it is. */
  readonly isRecorded?: boolean;
}

export class History {
  /** By sequence: it is the index. */
  readonly leaves: LeafWrite[];
  readonly trustRoots: TrustRootChain;
  readonly cosigners: TestNode[] = [NODE_A, NODE_B];
  /** Time of the next leaf. */
  clockMs: number;
  /** Leaves of origin A, by depth. */
  readonly #own: LeafWrite[];
  readonly #byId = new Map<string, LeafWrite>();
  readonly #book = new RecordBook(sha256);
  readonly #altered = new Map<number, Partial<ClaimRecord & GrantRecord>>();
  readonly #missing = new Set<number>();

  constructor() {
    const { tables, state, clockMs } = LedgerHarness.started();
    if (state.trustRootChain === null) throw new Error("no trust root");
    this.leaves = [...tables.leaves];
    this.trustRoots = state.trustRootChain;
    this.clockMs = clockMs;
    this.#own = this.leaves.filter((leaf) => equalBytes(leaf.originFingerprint, NODE_A.originFingerprint));
  }

  /** Puts a leaf on top of origin A. */
  append(body: (header: LeafHeader) => Leaf): LeafWrite {
    const before = this.#own.at(-1);
    if (before === undefined) throw new Error("no genesis");
    this.clockMs += 10;
    const leaf = body({
      originFingerprint: NODE_A.originFingerprint,
      depth: before.depth + 1,
      parentAnchorId: before.anchorId,
      sequence: this.leaves.length,
      acceptedMs: this.clockMs,
    });
    const bytes = encodeLeaf(leaf);
    const write: LeafWrite = { ...leaf, anchorId: anchorIdOf(bytes, sha256), bytes };
    this.leaves.push(write);
    this.#own.push(write);
    this.#byId.set(bytesToHex(write.anchorId), write);
    return write;
  }

  claim(name: string, options: ClaimOptions = {}, spoil: Partial<Leaf & { kind: 2 }> = {}): Party {
    const command = claim(name, options);
    const write = this.append((header) => ({ ...command.claim, ...header, ...spoil, kind: LEAF_KIND.claim }));
    const leaf = decodeLeaf(write.bytes);
    if (leaf.kind === LEAF_KIND.claim) this.#book.addClaim(leaf, { anchorId: write.anchorId, recordedBy: CLIENT_ID });
    return { name, claim: write };
  }

  grant(
    grantor: Party,
    grantee: Party,
    options: GrantOptions = {},
    spoil: Partial<Leaf & { kind: 3 }> = {},
  ): LeafWrite {
    const command = grant(grantor, grantee, options);
    const write = this.append((header) => ({ ...command.grant, ...header, ...spoil, kind: LEAF_KIND.grant }));
    const leaf = decodeLeaf(write.bytes);
    if (leaf.kind !== LEAF_KIND.grant) throw new Error("not a grant");
    const parent = isZero(leaf.parentGrantRef) ? null : this.#book.grant(this.sequenceOf(leaf.parentGrantRef));
    const parties = {
      grantor: this.#claimOf(leaf.grantorClaimRef),
      grantee: this.#claimOf(leaf.granteeClaimRef),
      parent,
    };
    this.#book.addGrant(leaf, { anchorId: write.anchorId, recordedBy: CLIENT_ID }, parties);
    return write;
  }

  /** By an operator. */
  revoke(target: LeafWrite, { suspectSince = 0, isRecorded = true }: RevokeOptions = {}): LeafWrite {
    const write = this.append((header) => ({
      kind: LEAF_KIND.revocation,
      ...header,
      targetAnchorId: target.anchorId,
      reason: 0,
      suspectSince,
      issuedAt: 0,
      authority: 0,
      revoker: clientRevoker(CLIENT_ID, sha256),
      signature: new Uint8Array(64),
    }));
    const kind = target.kind === LEAF_KIND.claim ? "claim" : "grant";
    if (isRecorded) this.#book.revoke(kind, target.sequence, write.sequence);
    return write;
  }

  /** The event is of kind 6 if the input has an actor. */
  event(input: EventInput = event(`event ${this.leaves.length}`)): LeafWrite {
    const { eventHash, semanticAnchor, actor } = input;
    const body = { eventHash, semanticAnchor, clientEventCommit: ZERO_32 };
    return this.append((header) =>
      actor === null
        ? { kind: LEAF_KIND.event, ...header, ...body }
        : {
            kind: LEAF_KIND.signedEvent,
            ...header,
            ...body,
            actorPublicKey: actor.publicKey,
            actorSignature: actor.signature,
          },
    );
  }

  sequenceOf(anchorId: Uint8Array): number {
    const leaf = this.#byId.get(bytesToHex(anchorId));
    if (leaf === undefined) throw new Error(`no leaf ${bytesToHex(anchorId)}`);
    return leaf.sequence;
  }

  #claimOf(anchorId: Uint8Array): ClaimRecord {
    const record = this.#book.claim(this.sequenceOf(anchorId));
    if (record === null) throw new Error("no such claim");
    return record;
  }

  /** Writes to the row of a record. */
  alter(target: LeafWrite, change: Partial<ClaimRecord & GrantRecord>): this {
    this.#altered.set(target.sequence, change);
    return this;
  }

  /** Takes the row of a record away. */
  lose(target: LeafWrite): this {
    this.#missing.add(target.sequence);
    return this;
  }

  get records(): LoadedRecords {
    const asStored = <R extends ClaimRecord | GrantRecord>(records: readonly R[]): R[] =>
      records
        .filter(({ sequence }) => !this.#missing.has(sequence))
        .map((record) => ({ ...record, ...this.#altered.get(record.sequence) }));
    return new LoadedRecords(asStored(this.#book.addedClaims()), asStored(this.#book.addedGrants()));
  }

  claimRecord(write: LeafWrite): ClaimRecord {
    const record = this.records.claim(write.sequence);
    if (record === null) throw new Error("no such claim");
    return record;
  }

  /** Where a leaf stands. */
  at({ sequence, acceptedMs }: LeafWrite): AsOf {
    return { sequence, timeMs: acceptedMs };
  }

  /** The newest leaf. */
  get now(): AsOf {
    return { sequence: this.leaves.length - 1, timeMs: this.clockMs };
  }

  /** What the checks of an anchor look at, under a certificate of all there is. */
  evidence(write: LeafWrite, asOf = this.now): AnchorEvidence {
    const own = this.#own;
    const tree = new RecentTree(emptyFrontier(), sha256);
    for (const { anchorId } of own) tree.append(anchorId);
    const path = tree.prove(write.depth, tree.size);
    const checkpoint = noteOver(tree, this.cosigners);
    const receipt: Receipt = { leaf: write.bytes, index: write.depth, treeSize: tree.size, path, checkpoint };
    const parent = own[write.depth - 1] ?? null;
    return { anchorId: write.anchorId, receipt, parent, asOf, trustRoots: this.trustRoots };
  }

  /** What a store would load for these claims and grants: the rows in view, and no others. */
  recordEvidence(shown: readonly LeafWrite[], asOf = this.now, positions = [asOf], hopsMax = 10_000): RecordEvidence {
    const { records } = this;
    const claims = shown.flatMap(({ sequence }) => records.claim(sequence) ?? []);
    const grants = shown.flatMap(({ sequence }) => records.grant(sequence) ?? []);
    const view = recordsInView({ claims, grants }, records, positions, hopsMax);
    const targets = new Set(targetsInView(view).map((sequence) => bytesToHex(this.#leafAt(sequence).anchorId)));
    return {
      records,
      leaves: leavesInView(view, asOf).flatMap((sequence) => this.leaves[sequence] ?? []),
      revocations: this.leaves.filter((write) => {
        const leaf = decodeLeaf(write.bytes);
        if (leaf.kind !== LEAF_KIND.revocation || leaf.sequence > asOf.sequence) return false;
        return targets.has(bytesToHex(leaf.targetAnchorId));
      }),
    };
  }

  #leafAt(sequence: number): LeafWrite {
    const leaf = this.leaves[sequence];
    if (leaf === undefined) throw new Error(`no leaf has sequence ${sequence}`);
    return leaf;
  }

  traceInput(anchor: LeafWrite, more: Partial<TraceInput> = {}): TraceInput {
    const asOf = more.asOf ?? this.now;
    const leaf = decodeLeaf(anchor.bytes);
    const references = new Map<string, AnchorFact>();
    const shown: LeafWrite[] = [anchor];
    if (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent) {
      const { eventDataHash: _, ...named } = leaf.semanticAnchor;
      for (const id of Object.values(named)) {
        const found = this.#byId.get(bytesToHex(id));
        if (found === undefined) continue;
        references.set(bytesToHex(id), found);
        shown.push(found);
      }
    }
    return {
      anchor,
      references,
      parents: [],
      beforeParents: this.#own[anchor.depth - 1] ?? null,
      asOf,
      ...this.recordEvidence(shown, asOf, [asOf, this.at(anchor)], 1_000),
      trustedRoots: null,
      possibleParents: { grants: [], records: this.records },
      ...more,
    };
  }
}

/** Anchor ids as hex, for comparison. */
export function hexIds(ids: readonly AnchorId[]): string[] {
  return ids.map((id) => bytesToHex(id));
}
