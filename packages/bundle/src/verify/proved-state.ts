/** What the state part of a bundle proves: a head that a quorum has signed, and records in its tree. */
import {
  DecodeError,
  LEAF_KIND,
  NoteError,
  StateHeadError,
  anchorIdOf,
  bytesToHex,
  decodeLeaf,
  equalBytes,
  parseNote,
  parseStateHead,
  stateKeyOf,
  stateRootOfProof,
  verifyStateHead,
} from "@event-anchoring/protocol";
import type {
  ClaimLeaf,
  Crypto,
  GrantLeaf,
  PlacedStateLeaf,
  Sha256,
  SignedTrustRoot,
  StateHead,
  TrustRootChain,
} from "@event-anchoring/protocol";
import { RECORD_STATE_KIND, decodeStatedClaim, decodeStatedGrant } from "@event-anchoring/records";
import type { StatedClaim, StatedGrant } from "@event-anchoring/records";
import type { BundleState, StatedRecord } from "../format/bundle.ts";
import { BundleFailure, failUnless } from "./bundle-failure.ts";
import type { CertifiedTree, ProvedLeaf } from "./proved-leaves.ts";

/** A claim or a grant that is in the state tree, with its value there. */
export type ProvedRecord = ProvedLeaf &
  (
    | { readonly kind: "claim"; readonly leaf: ClaimLeaf; readonly stated: StatedClaim }
    | { readonly kind: "grant"; readonly leaf: GrantLeaf; readonly stated: StatedGrant }
  );

export interface ProvedState {
  readonly head: StateHead;
  /** The version that the head names and that judged its signatures. */
  readonly version: number;
  /** By the hex of the origin's fingerprint. */
  readonly trees: ReadonlyMap<string, CertifiedTree>;
  readonly records: readonly ProvedRecord[];
}

function namedVersion(note: string, { versions, newest }: TrustRootChain): SignedTrustRoot {
  const { trustRootVersion, epoch } = parseStateHead(parseNote(note).text);
  failUnless(
    epoch === newest.trustRoot.epoch,
    `epoch_differs: the head is of epoch ${epoch}, the newest trust root of ${newest.trustRoot.epoch}`,
  );
  const named = versions.find(({ trustRoot }) => trustRoot.version === trustRootVersion);
  if (named === undefined)
    throw new BundleFailure(`trust_root_unknown: the head names version ${trustRootVersion}, which is not held`);
  return named;
}

/** How many signers the newest version still trusts, whichever key they used. */
function trustedOf(signers: readonly string[], signed: SignedTrustRoot, { newest }: TrustRootChain): number {
  const distrusted = newest.trustRoot.nodes.filter(({ status }) => status === "distrusted");
  return signers.filter((nodeId) => {
    const own = signed.trustRoot.nodes.find((node) => node.nodeId === nodeId)?.cosignerVkey.publicKey;
    return !distrusted.some(
      (node) => node.nodeId === nodeId || (own !== undefined && equalBytes(node.cosignerVkey.publicKey, own)),
    );
  }).length;
}

function readHead(note: string, trustRoots: TrustRootChain, crypto: Crypto): { head: StateHead; version: number } {
  const signed = namedVersion(note, trustRoots);
  const { head, signers } = verifyStateHead(note, signed, crypto);
  const { quorum, version } = signed.trustRoot;
  failUnless(
    trustedOf(signers, signed, trustRoots) >= quorum,
    `cosigner_distrusted: the quorum needs a node that trust root ${trustRoots.newest.trustRoot.version} distrusts`,
  );
  return { head, version };
}

/** @throws BundleFailure */
function proveHead(note: string, trustRoots: TrustRootChain, crypto: Crypto): { head: StateHead; version: number } {
  try {
    return readHead(note, trustRoots, crypto);
  } catch (error) {
    if (error instanceof StateHeadError) throw new BundleFailure(`${error.code}: ${error.message}`);
    if (error instanceof NoteError) throw new BundleFailure(`malformed: ${error.message}`);
    throw error;
  }
}

function treesOf({ origins }: StateHead, { newest }: TrustRootChain): Map<string, CertifiedTree> {
  const trees = new Map<string, CertifiedTree>();
  for (const { originFingerprint, treeSize, rootHash } of origins) {
    const listed = newest.trustRoot.origins.find((origin) => equalBytes(origin.originFingerprint, originFingerprint));
    if (listed === undefined) throw new BundleFailure(`no trust root lists origin ${bytesToHex(originFingerprint)}`);
    trees.set(bytesToHex(originFingerprint), { originFingerprint, treeSize, rootHash, status: listed.status });
  }
  return trees;
}

interface ReadRecord {
  readonly record: ProvedRecord;
  readonly placed: PlacedStateLeaf;
}

function readRecord(
  { leaf: bytes, value, level }: StatedRecord,
  trees: ReadonlyMap<string, CertifiedTree>,
  where: string,
  sha256: Sha256,
): ReadRecord {
  const leaf = decodeLeaf(bytes);
  const isRecord = leaf.kind === LEAF_KIND.claim || leaf.kind === LEAF_KIND.grant;
  if (!isRecord) throw new BundleFailure(`${where} is neither claim nor grant`);
  const anchorId = anchorIdOf(bytes, sha256);
  const kind = leaf.kind === LEAF_KIND.claim ? RECORD_STATE_KIND.claim : RECORD_STATE_KIND.grant;
  const placed = { key: stateKeyOf(kind, anchorId, sha256), valueHash: sha256(value), level };
  const tree = trees.get(bytesToHex(leaf.originFingerprint));
  if (tree === undefined) throw new BundleFailure(`${where} is of an origin that the state head does not have`);
  const proved = { anchorId, bytes, originStatus: tree.status };
  const record: ProvedRecord =
    leaf.kind === LEAF_KIND.claim
      ? { ...proved, kind: "claim", leaf, stated: decodeStatedClaim(value) }
      : { ...proved, kind: "grant", leaf, stated: decodeStatedGrant(value) };
  failUnless(record.stated.sequence === leaf.sequence, `${where} has sequence ${leaf.sequence}, its value another`);
  return { record, placed };
}

function readRecords(
  records: readonly StatedRecord[],
  trees: ReadonlyMap<string, CertifiedTree>,
  sha256: Sha256,
): ReadRecord[] {
  return records.map((part, at) => {
    const where = `record ${at}`;
    try {
      return readRecord(part, trees, where, sha256);
    } catch (error) {
      if (error instanceof DecodeError) throw new BundleFailure(`${where} cannot be read: ${error.message}`);
      throw error;
    }
  });
}

/**
 * The head is signed by a quorum of the version that it names, and the records are in its tree.
 * @throws BundleFailure
 */
export function proveState(state: BundleState, trustRoots: TrustRootChain, crypto: Crypto): ProvedState {
  const { head, version } = proveHead(state.head, trustRoots, crypto);
  const trees = treesOf(head, trustRoots);
  const read = readRecords(state.records, trees, crypto.sha256);
  if (read.length > 0) {
    const placed = read.map((each) => each.placed);
    const root = stateRootOfProof(placed, state.siblings, crypto.sha256);
    const isRoot = root !== null && equalBytes(root, head.stateRoot);
    failUnless(isRoot, "the paths of the records do not lead to the root of the state head");
  } else failUnless(state.siblings.length === 0, "there are siblings, and no record");
  return { head, version, trees, records: read.map((each) => each.record) };
}
