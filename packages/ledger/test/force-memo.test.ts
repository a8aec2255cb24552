import { describe, expect, test } from "@jest/globals";
import { toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ForceMemo } from "../src/decide/force-memo.ts";
import { RecordBook } from "@event-anchoring/records";
import type { ClaimRecord, GrantRecord, RecordIndex } from "@event-anchoring/records";

const LINKS = 200;
const AT = { sequence: 10_000, timeMs: 1_000 };
const bytes = (of: number): Uint8Array => new Uint8Array(32).fill(of);

const CLAIM: ClaimRecord = {
  anchorId: toAnchorId(bytes(1)),
  recordedBy: null,
  originFingerprint: toOriginFingerprint(bytes(2)),
  sequence: 1,
  entityFingerprint: bytes(3),
  attributeType: 1,
  subjectPublicKey: bytes(4),
  issuerPublicKey: bytes(5),
  expiresAt: 0,
  lineage: 1,
  supersededAt: null,
  revokedAt: null,
};

/** A chain of grants, sequences 10 and up; the first is the root. */
function chain(rootRevokedAt: number | null): GrantRecord[] {
  return Array.from({ length: LINKS }, (_, at) => ({
    anchorId: toAnchorId(bytes(at % 256)),
    recordedBy: null,
    originFingerprint: CLAIM.originFingerprint,
    sequence: 10 + at,
    grantorClaim: 1,
    granteeClaim: 1,
    grantorLineage: 1,
    granteeLineage: 1,
    grantorFingerprint: bytes(3),
    granteeFingerprint: bytes(3),
    parent: at === 0 ? null : 9 + at,
    links: at + 1,
    delegationDepth: LINKS - at,
    notBefore: 0,
    expiresAt: 0,
    grantorPublicKey: bytes(4),
    witnessPublicKey: bytes(6),
    supersededAt: null,
    revokedAt: at === 0 ? rootRevokedAt : null,
  }));
}

/** Counts how often a grant is looked up. */
function countingBook(grants: readonly GrantRecord[]): { book: RecordBook; lookUps: () => number } {
  let count = 0;
  const base: RecordIndex = {
    claim: () => CLAIM,
    grant: (sequence) => {
      count += 1;
      return grants[sequence - 10] ?? null;
    },
    newestClaimOf: () => CLAIM,
    newestClaimOfPair: () => CLAIM,
    newestGrantBetween: () => null,
  };
  return { book: new RecordBook(nodeCrypto.sha256, base), lookUps: () => count };
}

describe("a chain is walked once in an entry", () => {
  test.each<[string, number | null, string | null]>([
    ["that is in force", null, null],
    ["whose root is revoked", 50, "grant_revoked"],
  ])("one %s", (_, rootRevokedAt, code) => {
    const grants = chain(rootRevokedAt);
    const last = grants.at(-1) as GrantRecord;
    const { book, lookUps } = countingBook(grants);
    const memo = new ForceMemo(book);
    expect(memo.faultOf(last, AT)?.code ?? null).toBe(code);
    const once = lookUps();
    expect(once).toBeGreaterThanOrEqual(LINKS - 1);
    for (const grant of [last, ...grants]) expect(memo.faultOf(grant, AT)?.code ?? null).toBe(code);
    expect(lookUps()).toBe(once);
  });

  test("a grant that ends meanwhile is noticed, and what was remembered of others stays", () => {
    const grants = chain(null);
    const { book } = countingBook(grants);
    const memo = new ForceMemo(book);
    const last = grants.at(-1) as GrantRecord;
    expect(memo.faultOf(last, AT)).toBeNull();
    book.revoke("grant", 10, 9_999);
    expect(memo.faultOf(last, AT)).toMatchObject({ code: "grant_revoked", sequence: 9_999 });
  });
});
