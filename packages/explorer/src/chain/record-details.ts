/** One record, opened: its leaf field by field, and the words that explain them. */
import { LEAF_KIND, REVOCATION_AUTHORITIES, REVOCATION_REASONS, bytesToHex, isZero } from "@event-anchoring/protocol";
import type { ClaimLeaf, EventLeaf, GrantLeaf, Leaf, RevocationLeaf, SignedEventLeaf } from "@event-anchoring/protocol";
import { hopsText, isoMs, windowText } from "@event-anchoring/verdicts";

export interface DetailRow {
  readonly label: string;
  readonly value: string;
  /** Hex of another record's anchor id, if that is what the value is. */
  readonly isAnchor: boolean;
}

function row(label: string, value: string): DetailRow {
  return { label, value, isAnchor: false };
}

function hex(label: string, bytes: Uint8Array): DetailRow[] {
  return isZero(bytes) ? [] : [row(label, bytesToHex(bytes))];
}

function anchor(label: string, bytes: Uint8Array): DetailRow[] {
  return isZero(bytes) ? [] : [{ label, value: bytesToHex(bytes), isAnchor: true }];
}

function time(label: string, ms: number): DetailRow[] {
  return ms === 0 ? [] : [row(label, isoMs(ms))];
}

function eventRows({ eventHash, semanticAnchor, clientEventCommit }: EventLeaf | SignedEventLeaf): DetailRow[] {
  return [
    ...hex("event hash", eventHash),
    ...anchor("iris", semanticAnchor.irisRef),
    ...anchor("grant", semanticAnchor.grantRef),
    ...anchor("scroll", semanticAnchor.scrollRef),
    ...anchor("bond", semanticAnchor.bondRef),
    ...anchor("yield", semanticAnchor.yieldRef),
    ...hex("event data hash", semanticAnchor.eventDataHash),
    ...hex("client event commit", clientEventCommit),
  ];
}

function claimRows(leaf: ClaimLeaf): DetailRow[] {
  return [
    ...hex("entity", leaf.entityFingerprint),
    row("attribute type", String(leaf.attributeType)),
    ...hex("attribute hash", leaf.attributeHash),
    ...time("issued", leaf.issuedAt),
    row("expires", leaf.expiresAt === 0 ? "never" : isoMs(leaf.expiresAt)),
    ...hex("subject's key", leaf.subjectPublicKey),
    ...hex("issuer's key", leaf.issuerPublicKey),
  ];
}

function grantRows(leaf: GrantLeaf): DetailRow[] {
  return [
    ...anchor("grantor's claim", leaf.grantorClaimRef),
    ...anchor("grantee's claim", leaf.granteeClaimRef),
    ...anchor("parent grant", leaf.parentGrantRef),
    ...hex("scope hash", leaf.scopeHash),
    row("may grant on", hopsText(leaf.delegationDepth)),
    row("window", windowText(leaf)),
    ...time("issued", leaf.issuedAt),
    ...hex("grantor's key", leaf.grantorPublicKey),
    ...hex("witness's key", leaf.witnessPublicKey),
  ];
}

function revocationRows(leaf: RevocationLeaf): DetailRow[] {
  return [
    ...anchor("revokes", leaf.targetAnchorId),
    row("reason", (REVOCATION_REASONS[leaf.reason] ?? "").replaceAll("_", " ")),
    row("authority", REVOCATION_AUTHORITIES[leaf.authority] ?? ""),
    ...time("suspect since", leaf.suspectSince),
    ...time("issued", leaf.issuedAt),
    ...hex("revoker", leaf.revoker),
  ];
}

function bodyRows(leaf: Leaf): DetailRow[] {
  switch (leaf.kind) {
    case LEAF_KIND.event:
      return eventRows(leaf);
    case LEAF_KIND.signedEvent:
      return [...eventRows(leaf), ...hex("actor's key", leaf.actorPublicKey)];
    case LEAF_KIND.claim:
      return claimRows(leaf);
    case LEAF_KIND.grant:
      return grantRows(leaf);
    case LEAF_KIND.revocation:
      return revocationRows(leaf);
    case LEAF_KIND.genesis:
      return [...hex("cluster", leaf.clusterId), ...hex("RootTHK", leaf.rootThk)];
    case LEAF_KIND.trustRoot:
      return [row("version", String(leaf.version)), ...hex("RootTHK", leaf.rootThk)];
  }
}

/** Every field that is not empty, the record's own first. */
export function detailRows(leaf: Leaf): DetailRow[] {
  return [
    ...bodyRows(leaf),
    row("accepted", isoMs(leaf.acceptedMs)),
    row("sequence", String(leaf.sequence)),
    row("depth", `${leaf.depth} of its origin`),
    ...hex("origin", leaf.originFingerprint),
    ...anchor("leaf before it", leaf.parentAnchorId),
  ];
}

const EVENT_TERMS = ["semantic anchor", "iris", "scroll, bond, yield", "signed event, actor", "actor proven"];
const COMMON_TERMS = ["leaf, anchor id", "sequence", "chain depth", "origin, origin fingerprint", "inclusion proof"];

const TERMS: Readonly<Record<Leaf["kind"], readonly string[]>> = {
  [LEAF_KIND.genesis]: ["trust root, RootTHK"],
  [LEAF_KIND.event]: EVENT_TERMS,
  [LEAF_KIND.signedEvent]: EVENT_TERMS,
  [LEAF_KIND.claim]: [
    "claim anchor, grant anchor, event anchor",
    "subject, issuer; grantor, grantee",
    "entity, pair",
    "lineage",
  ],
  [LEAF_KIND.grant]: [
    "subject, issuer; grantor, grantee",
    "grant witness",
    "delegation depth, link",
    "root grant",
    "window",
    "boundary",
    "scope",
    "statement, disclose, withhold",
  ],
  [LEAF_KIND.revocation]: ["revocation, revoked", "cascade", "suspect"],
  [LEAF_KIND.trustRoot]: ["trust root, RootTHK"],
};

/** Terms of the glossary that explain a record of this kind. */
export function termsOf(kind: Leaf["kind"]): readonly string[] {
  return [...TERMS[kind], "in force", "state", ...COMMON_TERMS];
}
