import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, ZERO_32, anchorIdOf, encodeLeaf, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { createdJson, writeCreatedFields, writeSharedFields } from "../src/routes/created-answer.ts";
import type { CreatedRecord } from "../src/routes/created-answer.ts";
import { JsonWriter } from "../src/routes/json-writer.ts";
import { SharedCheckpoints } from "../src/routes/shared-receipts.ts";

// The writer of answers writes what JSON.stringify makes of the objects that the schemas describe, byte for byte.

const { sha256 } = nodeCrypto;
const MUTATIONS = Number(process.env["MUTATIONS"] ?? 1000);

const bytesOf = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const hash = bytesOf(32).map((bytes) => (bytes[0] === 0 ? bytes.fill(1) : bytes));
const reference = fc.oneof(hash, fc.constant(ZERO_32));
const signature = bytesOf(64).map((bytes) => bytes.fill(1, 0, 1));
const unsigned32 = fc.integer({ min: 0, max: 0xffff_ffff });
const position = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }));
const timeMs = fc.integer({ min: 0, max: 253_402_300_799_999 });

const header = fc.record({
  originFingerprint: hash.map(toOriginFingerprint),
  depth: position,
  parentAnchorId: hash.map(toAnchorId),
  sequence: position,
  acceptedMs: timeMs,
});

const semanticAnchor = fc.record({
  irisRef: reference,
  scrollRef: reference,
  grantRef: reference,
  bondRef: reference,
  yieldRef: reference,
  eventDataHash: reference,
});

const eventBody = fc.record({ eventHash: hash, semanticAnchor, clientEventCommit: reference });

const bodies: readonly fc.Arbitrary<object>[] = [
  fc.record({ kind: fc.constant(LEAF_KIND.event) }).chain((kind) => eventBody.map((body) => ({ ...kind, ...body }))),
  fc
    .record({ kind: fc.constant(LEAF_KIND.signedEvent), actorPublicKey: hash, actorSignature: signature })
    .chain((actor) => eventBody.map((body) => ({ ...actor, ...body }))),
  fc.record({
    kind: fc.constant(LEAF_KIND.genesis),
    depth: fc.constant(0),
    parentAnchorId: fc.constant(ZERO_32),
    clusterId: hash,
    rootThk: hash,
  }),
  fc.record({
    kind: fc.constant(LEAF_KIND.claim),
    entityFingerprint: hash,
    attributeType: unsigned32,
    attributeHash: hash,
    issuedAt: timeMs,
    expiresAt: timeMs,
    subjectPublicKey: hash,
    subjectSignature: signature,
    issuerPublicKey: hash,
    issuerSignature: signature,
  }),
  fc.record({
    kind: fc.constant(LEAF_KIND.grant),
    grantorClaimRef: hash,
    granteeClaimRef: hash,
    parentGrantRef: reference,
    scopeHash: hash,
    delegationDepth: unsigned32,
    issuedAt: timeMs,
    notBefore: timeMs,
    expiresAt: timeMs,
    grantorPublicKey: hash,
    grantorSignature: signature,
    witnessPublicKey: hash,
    witnessSignature: signature,
  }),
  fc.record({
    kind: fc.constant(LEAF_KIND.revocation),
    targetAnchorId: hash,
    reason: fc.integer({ min: 0, max: 5 }),
    suspectSince: timeMs,
    issuedAt: timeMs,
    authority: fc.constant(1),
    revoker: hash,
    signature,
  }),
  fc.record({ kind: fc.constant(LEAF_KIND.trustRoot), version: fc.integer({ min: 1, max: 9 }), rootThk: hash }),
];

const leaf = fc.tuple(header, fc.oneof(...bodies)).map(([head, body]) => ({ ...head, ...body }) as unknown as Leaf);

const clientEvent = fc.oneof(
  fc.constant(null),
  fc.record({
    clientEventId: fc.oneof(
      fc.constant(null),
      fc.string({ minLength: 1, maxLength: 128 }),
      fc.constant('"\\ é \u2028'),
    ),
    clientEventSalt: fc.oneof(fc.constant(null), hash),
    isErased: fc.boolean(),
  }),
);

const certificate = fc.record({
  treeSize: position,
  trustRootVersion: fc.integer({ min: 1, max: 99 }),
  checkpoint: fc.string({ unit: "binary", maxLength: 200 }).map((text) => `origin\n— ${text}`),
});

const appended = fc
  .record({
    leaf,
    clientEvent,
    certificate,
    path: fc.array(hash, { maxLength: 53 }),
    isCertified: fc.boolean(),
    state: fc.constantFrom("active" as const, "revoked" as const),
  })
  .map(({ leaf: made, isCertified, path, certificate: held, ...shown }): CreatedRecord => {
    const bytes = encodeLeaf(made);
    const anchorId = anchorIdOf(bytes, sha256);
    return {
      kind: "appended",
      view: { leaf: made, anchorId, finality: isCertified ? "certified" : "committed", ...shown },
      proved: isCertified ? { anchorId, leaf: bytes, index: made.depth, path, certificate: held } : null,
    };
  });

interface SharedItem {
  readonly anchor: { readonly anchor_id: string };
  readonly shared_receipt: { readonly checkpoint: number } | null;
  readonly replayed: boolean;
}

function written(record: CreatedRecord, capacity: number): string {
  const writer = new JsonWriter(capacity);
  writeCreatedFields(writer, record);
  return `{${Buffer.from(writer.finish()).toString("utf8")}}`;
}

test("of any record the bytes written are those of JSON.stringify", () => {
  const seen = new Set<number>();
  fc.assert(
    fc.property(appended, fc.constantFrom(1, 64, 4096), (record, capacity) => {
      if (record.kind === "appended") seen.add(record.view.leaf.kind);
      expect(written(record, capacity)).toBe(JSON.stringify(createdJson(record, sha256)));
    }),
    { numRuns: MUTATIONS },
  );
  expect(seen.size).toBe(Object.keys(LEAF_KIND).length);
});

test("so are those of a replay", () => {
  fc.assert(
    fc.property(appended, (record) => {
      const answer = { ...createdJson(record, sha256), replayed: true };
      expect(written({ kind: "replayed", answer }, 16)).toBe(JSON.stringify(answer));
    }),
    { numRuns: 100 },
  );
});

test("with shared checkpoints each receipt can be made whole again, and each checkpoint is there once", () => {
  const records = fc.array(fc.tuple(appended, fc.boolean()), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(records, (made) => {
      const shared = new SharedCheckpoints();
      const wholes = made.map(([record, isReplay]) => ({ ...createdJson(record, sha256), replayed: isReplay }));
      const items = made.map(([record, isReplay], at): SharedItem => {
        const writer = new JsonWriter(16);
        const answer = wholes[at];
        const shown = isReplay && answer !== undefined ? ({ kind: "replayed", answer } as const) : record;
        writeSharedFields(writer, shown, shared);
        return JSON.parse(`{${Buffer.from(writer.finish()).toString("utf8")}}`);
      });
      const checkpoints = shared.toJson();
      const rebuilt = items.map(({ anchor, shared_receipt: receipt, replayed }) => {
        if (receipt === null) return { anchor, receipt, replayed };
        const { checkpoint, ...rest } = receipt;
        return { anchor, receipt: { anchor_id: anchor.anchor_id, ...rest, ...checkpoints[checkpoint] }, replayed };
      });
      expect(rebuilt).toEqual(JSON.parse(JSON.stringify(wholes)));
      expect(new Set(checkpoints.map((checkpoint) => JSON.stringify(checkpoint))).size).toBe(checkpoints.length);
    }),
    { numRuns: 200 },
  );
});

test("numbers, and bytes of any length", () => {
  const writer = new JsonWriter(1);
  const lengths = Array.from({ length: 70 }, (_, length) => new Uint8Array(length).fill(0xf7 - length));
  writer.list(lengths, (bytes) => writer.base64(bytes)).list(lengths, (bytes) => writer.hex(bytes));
  writer.list([0, 9, 10, Number.MAX_SAFE_INTEGER], (value) => writer.count(value)).list([], () => undefined);
  const base64 = lengths.map((bytes) => Buffer.from(bytes).toString("base64"));
  const hex = lengths.map((bytes) => Buffer.from(bytes).toString("hex"));
  const texts = [base64, hex, [0, 9, 10, Number.MAX_SAFE_INTEGER], []].map((list) => JSON.stringify(list));
  expect(Buffer.from(writer.finish()).toString("utf8")).toBe(texts.join(""));
});
