/** Bundles cut out of ledgers that decided what they hold, and what is true of them. */
import {
  LEAF_KIND,
  RecentTree,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  decodeLeaf,
  emptyFrontier,
  equalBytes,
  formatCheckpoint,
  formatNote,
  interiorHash,
  noteMessage,
  noteSignatureLine,
} from "@event-anchoring/protocol";
import type { HashAt } from "@event-anchoring/protocol";
import { assembleBundle } from "../src/index.ts";
import { recordsInView, targetsInView, traceEvent } from "@event-anchoring/records";
import type { Bundle } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import type { AnchorFact, AsOf, Trace, VerdictMemo } from "@event-anchoring/records";
import { CLUSTER_NAME, NODE_A, NODE_B, NODE_C, NODE_D, certify, sha256 } from "../../../test/worlds/cluster.ts";
import type { TestNode } from "../../../test/worlds/cluster.ts";
import { event, record } from "../../../test/worlds/ledger-harness.ts";
import type { LedgerHarness } from "../../../test/worlds/ledger-harness.ts";
import { RandomLife, randomOf } from "../../../test/worlds/random-life.ts";
import { acting } from "../../../test/worlds/signed-records.ts";

export type Random = ReturnType<typeof randomOf>;

const NODES = [NODE_A, NODE_B, NODE_C, NODE_D];

/** A random life, with acts under its grants among all that happens. */
export function liveWithActs(ledger: LedgerHarness, seed: number, steps: number): LeafWrite[] {
  const life = new RandomLife(seed, ledger);
  const random = randomOf(seed + 1_000);
  const acts: LeafWrite[] = [];
  for (let step = 0; step < steps; step++) {
    ledger.apply(life.entry(step));
    if (step % 3 === 2) acts.push(...actUnderGrant(ledger, random));
  }
  return acts;
}

/** Somebody acts under a grant, mostly the grantee by the newest of their claims. */
function actUnderGrant(ledger: LedgerHarness, random: Random): LeafWrite[] {
  const { leaves, records } = ledger.tables;
  const grants = [...records.grants.values()];
  const standing = grants.filter(({ supersededAt, revokedAt }) => supersededAt === null && revokedAt === null);
  const known = random(4) === 0 ? grants : standing;
  const granted = known[random(known.length || 1)];
  const claims = [...records.claims.values()].filter(({ lineage }) => lineage === granted?.granteeLineage);
  const claimed = random(5) === 0 ? [...records.claims.values()][0] : claims.at(-1);
  if (granted === undefined || claimed === undefined) return [];
  const semanticAnchor = acting(leaves[claimed.sequence] ?? null, leaves[granted.sequence] ?? null);
  const { originFingerprint } = random(2) === 0 ? NODE_A : NODE_B;
  const outcome = ledger.run(record([event(`act ${leaves.length}`, { originFingerprint, semanticAnchor })]));
  const [first] = outcome.kind === "records" ? outcome.records : [];
  return first?.status === "accepted" ? [first.leaf] : [];
}

/** What is in a bundle of one origin. */
export interface OriginCut {
  readonly size: number;
  /** Depth from which on it is whole. */
  readonly from: number | null;
  /** Which of the other leaves have proofs of their own. */
  readonly isSingle: (leaf: LeafWrite) => boolean;
}

/** Roots of the perfect subtrees of leaves, each computed once. */
function hashesOf(leaves: readonly LeafWrite[]): HashAt {
  const known = new Map<string, Uint8Array>();
  const hashAt = (level: number, index: number): Uint8Array => {
    const own = level === 0 ? leaves[index]?.anchorId : known.get(`${level}/${index}`);
    if (own !== undefined) return own;
    if (level === 0) throw new RangeError(`no leaf ${index}`);
    const hash = interiorHash(hashAt(level - 1, 2 * index), hashAt(level - 1, 2 * index + 1), sha256);
    known.set(`${level}/${index}`, hash);
    return hash;
  };
  return hashAt;
}

/** Cosigned by nodes that are active in every version. */
function noteOf(node: TestNode, leaves: readonly LeafWrite[]): string {
  const tree = new RecentTree(emptyFrontier(), sha256);
  for (const { anchorId } of leaves) tree.append(anchorId);
  const { originFingerprint, log } = node;
  const origin = checkpointOrigin(CLUSTER_NAME, originFingerprint);
  const head = { originFingerprint, treeSize: tree.size, rootHash: tree.rootAt(tree.size) };
  const text = formatCheckpoint({ origin, treeSize: head.treeSize, rootHash: head.rootHash });
  const { cosignatures } = certify(head, [
    [NODE_A, 1_700_000_000],
    [NODE_B, 1_700_000_001],
  ]);
  const cosigned = cosignatures.map((each) => {
    const { publicKey } = (each.nodeId === NODE_A.nodeId ? NODE_A : NODE_B).cosigner;
    return cosignatureLine({ ...each, name: `${CLUSTER_NAME}/node/${each.nodeId}`, publicKey }, sha256);
  });
  const signature = log.sign(noteMessage(text));
  return formatNote(text, [
    noteSignatureLine({ name: origin, publicKey: log.publicKey, signature }, sha256),
    ...cosigned,
  ]);
}

/** @param cutOf null: nothing of this origin */
export function cutLife(
  ledger: LedgerHarness,
  subject: LeafWrite,
  asOf: AsOf,
  cutOf: (leaves: readonly LeafWrite[], node: TestNode) => OriginCut | null,
): Bundle {
  const { leaves, trustRoots } = ledger.tables;
  const origins = NODES.flatMap((node) => {
    const own = leaves.filter((leaf) => equalBytes(leaf.originFingerprint, node.originFingerprint));
    const cut = own.length === 0 ? null : cutOf(own, node);
    if (cut === null) return [];
    const tree = own.slice(0, cut.size);
    return [
      {
        originFingerprint: node.originFingerprint,
        checkpoint: noteOf(node, tree),
        treeSize: tree.length,
        hashAt: hashesOf(tree),
        leaves: tree.filter(cut.isSingle).map(({ bytes }) => bytes),
        range: cut.from === null ? null : { from: cut.from, leaves: tree.slice(cut.from).map(({ bytes }) => bytes) },
      },
    ];
  });
  const documents = trustRoots.map(({ document }) => document);
  return assembleBundle({ subject: subject.anchorId, asOf, trustRoots: documents, origins, stated: null }, sha256);
}

/** Sequences of the subject, of what it names, and of the whole chain of that with its claims. */
export function namedBy(ledger: LedgerHarness, subject: LeafWrite): Set<number> {
  const { anchors, records } = ledger.tables;
  const leaf = decodeLeaf(subject.bytes);
  const named = new Set([subject.sequence]);
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) return named;
  const { eventDataHash: _, ...references } = leaf.semanticAnchor;
  for (const id of Object.values(references)) {
    const found = anchors.get(bytesToHex(id));
    if (found === undefined) continue;
    named.add(found.sequence);
    for (let at: number | null = found.kind === LEAF_KIND.grant ? found.sequence : null; at !== null;) {
      const { grantorClaim, granteeClaim, parent } = records.grantAt(at);
      [at, grantorClaim, granteeClaim].forEach((sequence) => named.add(sequence));
      at = parent;
    }
  }
  return named;
}

/** The trace that the service would give, over its tables. */
export function tracedOf(ledger: LedgerHarness, subject: LeafWrite, asOf: AsOf, crypto: VerdictMemo): Trace {
  const { leaves, anchors } = ledger.tables;
  const records = ledger.tables.records.everything();
  const leaf = decodeLeaf(subject.bytes);
  const references = new Map<string, AnchorFact>();
  const named: Uint8Array[] = [];
  if (leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent) {
    const { irisRef, scrollRef, grantRef, bondRef, yieldRef } = leaf.semanticAnchor;
    for (const id of [irisRef, scrollRef, grantRef, bondRef, yieldRef]) {
      const found = anchors.get(bytesToHex(id));
      if (found !== undefined) references.set(bytesToHex(id), found);
    }
    named.push(irisRef, grantRef);
  } else named.push(subject.anchorId);
  const sequences = named.flatMap((id) => anchors.get(bytesToHex(id))?.sequence ?? []);
  const shown = {
    claims: sequences.flatMap((sequence) => records.claim(sequence) ?? []),
    grants: sequences.flatMap((sequence) => records.grant(sequence) ?? []),
  };
  const position = { sequence: subject.sequence, timeMs: subject.acceptedMs };
  const targets = new Set(targetsInView(recordsInView(shown, records, [position, asOf], 1_000)));
  const revocations = leaves.filter(({ bytes }) => {
    const each = decodeLeaf(bytes);
    if (each.kind !== LEAF_KIND.revocation || each.sequence > asOf.sequence) return false;
    return targets.has(anchors.get(bytesToHex(each.targetAnchorId))?.sequence ?? -1);
  });
  return traceEvent(
    {
      anchor: subject,
      references,
      parents: [],
      beforeParents: leaves.find(({ anchorId }) => equalBytes(anchorId, leaf.parentAnchorId)) ?? null,
      asOf,
      records,
      leaves,
      revocations,
      trustedRoots: null,
      possibleParents: { grants: [], records },
    },
    crypto,
  );
}
