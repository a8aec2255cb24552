/** What the leaves of a bundle show together: records, references, and how far the leaves are complete. */
import {
  LEAF_KIND,
  REVOCATION_AUTHORITIES,
  bytesToHex,
  equalBytes,
  isZero,
  revocationPayload,
} from "@event-anchoring/protocol";
import type {
  Crypto,
  GenesisLeaf,
  GrantLeaf,
  RevocationLeaf,
  Sha256,
  TrustRootChain,
  TrustRootLeaf,
} from "@event-anchoring/protocol";
import {
  parentFault,
  chainOf,
  signaturesOfLeaf,
  RecordBook,
  claimPairHash,
  REFERENCE_RULES,
  authorityOverClaim,
  authorityOverGrant,
  isEvent,
} from "@event-anchoring/records";
import { BundleFailure, failUnless } from "./bundle-failure.ts";
import type { ProvedLeaf } from "./proved-leaves.ts";
import type { AsOf, ClaimRecord, GrantRecord, Records, SignatureToVerify } from "@event-anchoring/records";

/** The leaves of a bundle by their ids and in the order of their sequences. */
export class ProvedLeaves {
  /** Ascending by sequence; judgeOrder finds two with one sequence. */
  readonly bySequence: readonly ProvedLeaf[];
  readonly #byId = new Map<string, ProvedLeaf>();

  constructor(leaves: readonly ProvedLeaf[]) {
    this.bySequence = [...leaves].sort((a, b) => a.leaf.sequence - b.leaf.sequence);
    for (const proved of leaves) this.#byId.set(bytesToHex(proved.anchorId), proved);
  }

  find(anchorId: Uint8Array): ProvedLeaf | null {
    return this.#byId.get(bytesToHex(anchorId)) ?? null;
  }

  atSequence(sequence: number): ProvedLeaf | null {
    let [low, high] = [0, this.bySequence.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.bySequence[middle]?.leaf.sequence ?? 0) < sequence) low = middle + 1;
      else high = middle;
    }
    const found = this.bySequence[low];
    return found?.leaf.sequence === sequence ? found : null;
  }
}

/** The revoker's signature; none for an operator, or if the target is not in the bundle. */
function revokerSignature(leaf: RevocationLeaf, leaves: ProvedLeaves): SignatureToVerify[] {
  const target = leaves.find(leaf.targetAnchorId)?.leaf;
  if (target === undefined) return [];
  const isRecord = target.kind === LEAF_KIND.claim || target.kind === LEAF_KIND.grant;
  failUnless(isRecord, `sequence ${leaf.sequence} revokes what is neither claim nor grant`);
  failUnless(target.sequence < leaf.sequence, `sequence ${leaf.sequence} revokes what is not older than itself`);
  const authority = REVOCATION_AUTHORITIES[leaf.authority];
  if (authority === "operator") return [];
  const entitled =
    target.kind === LEAF_KIND.claim
      ? authorityOverClaim(target, leaf.revoker)
      : authorityOverGrant(target, leaf.revoker);
  const isEntitled = entitled === authority;
  failUnless(isEntitled, `sequence ${leaf.sequence}: the revoker is not the ${authority ?? ""} of what it revokes`);
  const message = revocationPayload({ ...leaf, originFingerprint: target.originFingerprint });
  return [{ publicKey: leaf.revoker, message, signature: leaf.signature, pointer: "/signature" }];
}

/**
 * Every signature inside a leaf.
 * @returns their number
 * @throws BundleFailure
 */
export function judgeNestedSignatures(leaves: ProvedLeaves, crypto: Crypto): number {
  let count = 0;
  for (const { leaf } of leaves.bySequence) {
    const signatures =
      leaf.kind === LEAF_KIND.revocation ? revokerSignature(leaf, leaves) : signaturesOfLeaf(leaf, crypto.sha256);
    for (const { publicKey, message, signature, pointer } of signatures) {
      const isGood = crypto.ed25519Verify(publicKey, message, signature);
      failUnless(isGood, `sequence ${leaf.sequence}: ${pointer.slice(1)} is not one of key ${bytesToHex(publicKey)}`);
      count++;
    }
  }
  return count;
}

/** Sequences, times and depths agree, and leaves that are neighbours in one tree are linked. @throws BundleFailure */
export function judgeOrder(leaves: ProvedLeaves, crypto: Crypto): void {
  const newest = new Map<string, ProvedLeaf>();
  let before: ProvedLeaf | null = null;
  for (const proved of leaves.bySequence) {
    const { sequence, acceptedMs, depth, originFingerprint } = proved.leaf;
    if (before !== null) {
      failUnless(before.leaf.sequence < sequence, `two leaves have sequence ${sequence}`);
      failUnless(before.leaf.acceptedMs <= acceptedMs, `sequence ${sequence} is older than the one before it`);
    }
    const origin = bytesToHex(originFingerprint);
    const shallower = newest.get(origin);
    if (shallower !== undefined) {
      const isDeeper = shallower.leaf.depth < depth;
      failUnless(isDeeper, `sequence ${sequence} has depth ${depth}, an older leaf has ${shallower.leaf.depth}`);
      const fault = shallower.leaf.depth + 1 === depth ? parentFault(proved.leaf, shallower, crypto) : null;
      failUnless(fault === null, `sequence ${sequence}: ${fault ?? ""}`);
    }
    newest.set(origin, proved);
    before = proved;
  }
}

function judgeTrustRootLeaf(leaf: GenesisLeaf | TrustRootLeaf, trustRoots: TrustRootChain): void {
  const { versions, newest } = trustRoots;
  const first = versions[0]?.trustRoot.version ?? 1;
  const names = `sequence ${leaf.sequence} names trust root ${bytesToHex(leaf.rootThk)}`;
  if (leaf.kind === LEAF_KIND.genesis) {
    failUnless(
      equalBytes(leaf.clusterId, newest.trustRoot.clusterId),
      `sequence ${leaf.sequence} is of another cluster`,
    );
    // Versions before the pinned one are not known.
    const isHeld = first > 1 || versions.some(({ rootThk }) => equalBytes(rootThk, leaf.rootThk));
    failUnless(isHeld, `${names}, which is not in the bundle`);
    return;
  }
  if (leaf.version < first) return;
  const held = versions.find(({ trustRoot }) => trustRoot.version === leaf.version);
  if (held === undefined) throw new BundleFailure(`${names}, version ${leaf.version}, which is not in the bundle`);
  failUnless(equalBytes(held.rootThk, leaf.rootThk), `${names}, version ${leaf.version} is another`);
}

/** Leaves that announce a trust root announce one that is held. @throws BundleFailure */
export function judgeTrustRootLeaves(leaves: ProvedLeaves, trustRoots: TrustRootChain): void {
  for (const { leaf } of leaves.bySequence)
    if (leaf.kind === LEAF_KIND.genesis || leaf.kind === LEAF_KIND.trustRoot) judgeTrustRootLeaf(leaf, trustRoots);
}

/** The records of a bundle: derived from its leaves, or proved by its state head. */
export interface BundleBook extends Records {
  find(anchorId: Uint8Array): ClaimRecord | GrantRecord | null;
  addedGrants(): readonly GrantRecord[];
}

export interface BundleRecords {
  readonly book: BundleBook;
  /** Sequences of grants whose parents are not in the bundle. They still end older grants, and have no other effect. */
  readonly orphans: ReadonlySet<number>;
  /** Claims that would continue another issuer's lineage, which is impossible: a leaf in between is missing. */
  readonly usurpers: readonly { readonly sequence: number; readonly lineage: number }[];
}

/** The record of a grant whose parent is not in the bundle. */
function addOrphan(leaf: GrantLeaf, { anchorId }: ProvedLeaf, book: RecordBook): boolean {
  const grantor = book.find(leaf.grantorClaimRef);
  const grantee = book.find(leaf.granteeClaimRef);
  if (grantor === null || grantee === null) return false;
  const [from, to] = [book.claim(grantor.sequence), book.claim(grantee.sequence)];
  if (from === null || to === null) return false;
  book.addGrant(leaf, { anchorId, recordedBy: null }, { grantor: from, grantee: to, parent: null });
  return true;
}

export function deriveRecords(leaves: ProvedLeaves, sha256: Sha256): BundleRecords {
  const book = new RecordBook(sha256);
  const orphans = new Set<number>();
  const usurpers: { sequence: number; lineage: number }[] = [];
  for (const proved of leaves.bySequence) {
    const { leaf, anchorId } = proved;
    const newest = leaf.kind === LEAF_KIND.claim ? book.newestClaimOfPair(claimPairHash(leaf, sha256)) : null;
    const appended = book.append(leaf, { anchorId, recordedBy: null });
    if (appended.kind === "claim" && newest !== null && appended.record.lineage === newest.lineage) {
      const isSame = equalBytes(newest.issuerPublicKey, appended.record.issuerPublicKey);
      if (!isSame) usurpers.push({ sequence: leaf.sequence, lineage: newest.lineage });
    }
    const isDangling = appended.kind === "dangling" && leaf.kind === LEAF_KIND.grant;
    if (isDangling && addOrphan(leaf, proved, book)) orphans.add(leaf.sequence);
  }
  return { book, orphans, usurpers };
}

/** The records that the verdicts about a subject depend on. */
export interface BundleView {
  /** The claim of iris_ref, or the subject itself. */
  readonly iris: ClaimRecord | null;
  /** From the grant of grant_ref, or the subject itself, to the root. */
  readonly links: readonly GrantRecord[];
  /** Named claims: that of iris_ref, and both of each grant. */
  readonly claims: readonly ClaimRecord[];
}

/** The leaf that the subject names, which must be in the bundle and older. */
function named(anchorId: Uint8Array, subject: ProvedLeaf, leaves: ProvedLeaves, what: string): ProvedLeaf | null {
  if (isZero(anchorId)) return null;
  const found = leaves.find(anchorId);
  if (found === null) throw new BundleFailure(`${what} ${bytesToHex(anchorId)} is not in the bundle`);
  const isOlder = found.leaf.sequence < subject.leaf.sequence;
  failUnless(isOlder, `${what} ${bytesToHex(anchorId)} is not older than the subject`);
  return found;
}

function subjectsOf(subject: ProvedLeaf, leaves: ProvedLeaves): { iris: ProvedLeaf | null; grant: ProvedLeaf | null } {
  const { leaf } = subject;
  if (leaf.kind === LEAF_KIND.claim) return { iris: subject, grant: null };
  if (leaf.kind === LEAF_KIND.grant) return { iris: null, grant: subject };
  if (leaf.kind === LEAF_KIND.revocation) named(leaf.targetAnchorId, subject, leaves, "the target");
  if (!isEvent(leaf)) return { iris: null, grant: null };
  for (const { field, pointer } of REFERENCE_RULES)
    named(leaf.semanticAnchor[field], subject, leaves, pointer.slice(pointer.lastIndexOf("/") + 1));
  const { irisRef, grantRef } = leaf.semanticAnchor;
  return { iris: leaves.find(irisRef), grant: leaves.find(grantRef) };
}

/** The grants from one to its root, all of them with their claims. */
function linksOf(grant: ProvedLeaf, { book, orphans }: BundleRecords): readonly GrantRecord[] {
  const { sequence } = grant.leaf;
  const record = book.grant(sequence);
  if (record === null)
    throw new BundleFailure(`a claim that the grant of sequence ${sequence} names is not in the bundle`);
  const chain = chainOf(record, book);
  const orphan = chain.links.find((link) => orphans.has(link.sequence));
  if (orphan !== undefined)
    throw new BundleFailure(`the parent of the grant of sequence ${orphan.sequence} is not in the bundle`);
  failUnless(chain.isComplete, `the grant of sequence ${sequence} leads to no root`);
  return chain.links;
}

/**
 * Follows what the subject names. A reference to a record of another kind is not followed: the trace reports it.
 * @throws BundleFailure if something on the way is not in the bundle
 */
export function viewOf(subject: ProvedLeaf, leaves: ProvedLeaves, records: BundleRecords): BundleView {
  const { iris: irisLeaf, grant } = subjectsOf(subject, leaves);
  const iris = irisLeaf === null ? null : records.book.claim(irisLeaf.leaf.sequence);
  const links = grant?.leaf.kind === LEAF_KIND.grant ? linksOf(grant, records) : [];
  const claims = new Map<number, ClaimRecord>();
  if (iris !== null) claims.set(iris.sequence, iris);
  for (const { grantorClaim, granteeClaim } of links)
    for (const sequence of [grantorClaim, granteeClaim]) {
      const claim = records.book.claim(sequence);
      if (claim !== null) claims.set(sequence, claim);
    }
  return { iris, links, claims: [...claims.values()] };
}

/** Up to where no leaf that could end a record in view can be missing. */
export interface Completeness {
  /** The oldest claim or grant in view. Older leaves end none of them. */
  readonly after: number;
  /** Every leaf of a sequence above `after`, up to this one, is in the bundle, or in what the state head says. */
  readonly to: number;
}

/**
 * The newest claim of each lineage in view, at the act and at the position of now, is known.
 * @throws BundleFailure
 */
export function judgeNewestClaims({ claims }: BundleView, { book }: BundleRecords, positions: readonly AsOf[]): void {
  for (const { lineage, sequence } of claims)
    for (const at of positions) {
      const isKnown = sequence > at.sequence || book.newestClaimOf(lineage, at.sequence) !== null;
      failUnless(isKnown, `the newest claim of lineage ${lineage} at sequence ${at.sequence} is not in the bundle`);
    }
}

function inViewOf({ claims, links }: BundleView): readonly (ClaimRecord | GrantRecord)[] {
  return [...claims, ...links];
}

function oldestOf(records: readonly (ClaimRecord | GrantRecord)[]): number {
  return records.reduce((oldest, { sequence }) => Math.min(oldest, sequence), Number.MAX_SAFE_INTEGER);
}

/** The values of records in the state tree have every ending up to the head. */
export function completenessOfState(view: BundleView, nextSequence: number): Completeness | null {
  const records = inViewOf(view);
  return records.length === 0 ? null : { after: oldestOf(records), to: nextSequence - 1 };
}

/**
 * Sequences count the leaves of all origins without gaps: a leaf for every sequence means every leaf. Leaves of a lost
 * origin fill no gap, as another leaf may have taken their sequence.
 * @returns null: nothing is in view
 */
export function completenessOf(view: BundleView, leaves: ProvedLeaves): Completeness | null {
  const records = inViewOf(view);
  if (records.length === 0) return null;
  const after = oldestOf(records);
  const isLost = (sequence: number): boolean => leaves.atSequence(sequence)?.originStatus === "lost";
  if (records.some(({ sequence }) => isLost(sequence))) return { after, to: after };
  let to = after;
  for (const { leaf, originStatus } of leaves.bySequence)
    if (leaf.sequence === to + 1 && originStatus !== "lost") to = leaf.sequence;
  return { after, to };
}

/** Why a claim in view cannot be of the lineage that the bundle puts it in, or null. */
export function lineageFault(view: BundleView, { usurpers }: BundleRecords, asOf: AsOf): string | null {
  const lineages = new Set(view.claims.map(({ lineage }) => lineage));
  const found = usurpers.find(({ lineage, sequence }) => lineages.has(lineage) && sequence <= asOf.sequence);
  if (found === undefined) return null;
  return `the claim of sequence ${found.sequence} continues one of another issuer: what ended that one is missing`;
}
