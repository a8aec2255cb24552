import { describe, expect, test } from "@jest/globals";
import {
  EMPTY_SEMANTIC_ANCHOR,
  EventLeafWriter,
  LEAF_BYTES,
  LEAF_KIND,
  anchorIdOf,
  apiKeyHash,
  bytesToHex,
  claimPayload,
  clientEventCommit,
  decodeLeaf,
  encodeLeaf,
  eventActorPayload,
  grantPayload,
  hexToBytes,
  isEmptySemanticAnchor,
  logKeySeed,
  nobleCrypto,
  clientRevoker,
  operatorRevoker,
  originFingerprintOf,
  raftIdOf,
  revocationPayload,
  tag,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { CRYPTOS, codeOf, loadVectors } from "./vectors.ts";

const leaves = loadVectors("leaf.json") as {
  good: { fields: { kind: number }; leaf: string; anchor_id: string }[];
  bad: { name: string; error: string; leaf: string }[];
};

interface SignedPayload {
  readonly name: string;
  readonly payload: string;
  readonly public_key: string;
  readonly message: string;
  readonly signature: string;
}
const payloads = loadVectors("payloads.json") as { good: SignedPayload[]; bad: SignedPayload[] };

/** What decodeLeaf returned, as the vector files write it. */
function fieldsOf(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => {
      const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (field instanceof Uint8Array) return [snake, bytesToHex(field)];
      return [snake, typeof field === "object" ? fieldsOf(field as object) : field];
    }),
  );
}

describe("leaf", () => {
  test.each(leaves.good)("kind $fields.kind decodes to its fields and encodes back", ({ fields, leaf, anchor_id }) => {
    const bytes = hexToBytes(leaf);
    const decoded = decodeLeaf(bytes);
    expect(bytes).toHaveLength(LEAF_BYTES[decoded.kind]);
    expect(fieldsOf(decoded)).toEqual(fields);
    expect(bytesToHex(encodeLeaf(decoded))).toBe(leaf);
    for (const [, { sha256 }] of CRYPTOS) expect(bytesToHex(anchorIdOf(bytes, sha256))).toBe(anchor_id);
  });

  test("every kind has a vector", () => {
    expect(new Set(leaves.good.map(({ fields }) => fields.kind))).toEqual(new Set([0, 1, 2, 3, 4, 5, 6]));
  });

  test.each(leaves.bad)("refuses $name", ({ error, leaf }) => {
    expect(codeOf(() => decodeLeaf(hexToBytes(leaf)))).toBe(error);
  });

  test("every prefix of every leaf is refused", () => {
    for (const { leaf } of leaves.good) {
      const bytes = hexToBytes(leaf);
      for (let length = 0; length < bytes.length; length++) {
        expect(codeOf(() => decodeLeaf(bytes.subarray(0, length)))).toMatch(/^(truncated|tag_unknown|length_wrong)$/);
      }
    }
  });

  test("refuses to encode what it would not decode", () => {
    const event = decodeLeaf(hexToBytes(leaves.good[1]?.leaf ?? ""));
    expect(() => encodeLeaf({ ...event, depth: 0 })).toThrow(RangeError);
    expect(() => encodeLeaf({ ...event, sequence: -1 })).toThrow(RangeError);
    expect(() => encodeLeaf({ ...event, acceptedMs: 2 ** 53 })).toThrow(RangeError);
    expect(() => encodeLeaf({ ...event, originFingerprint: new Uint8Array(31) as never })).toThrow(RangeError);
  });

  test("a semantic anchor is empty only if all six fields are", () => {
    expect(isEmptySemanticAnchor(EMPTY_SEMANTIC_ANCHOR)).toBe(true);
    for (const name of Object.keys(EMPTY_SEMANTIC_ANCHOR)) {
      const anchor = { ...EMPTY_SEMANTIC_ANCHOR, [name]: new Uint8Array(32).fill(1) };
      expect(isEmptySemanticAnchor(anchor)).toBe(false);
    }
  });
});

describe("payloads", () => {
  const messageOf = (payload: string): string | undefined =>
    payloads.good.find((signed) => signed.payload === payload)?.message;

  test("are rebuilt from the leaves that carry them", () => {
    const [, , claim, , grant, event, revocation] = leaves.good.map(({ leaf }) => decodeLeaf(hexToBytes(leaf)));
    if (claim?.kind !== 2 || grant?.kind !== 3 || event?.kind !== 6 || revocation?.kind !== 4) {
      throw new TypeError("leaf.json has other kinds");
    }
    const rebuilt = [claimPayload(claim), grantPayload(grant), eventActorPayload(event), revocationPayload(revocation)];
    expect(rebuilt.map(bytesToHex)).toEqual(["claim", "grant", "event-actor", "revocation"].map(messageOf));
    expect(rebuilt.map((bytes) => bytes.length)).toEqual([207, 279, 289, 113]);
    expect(messageOf("claim-issuer")).toHaveLength(130 * 2);
    expect(messageOf("grant-witness")).toHaveLength(131 * 2);
  });

  describe.each(CRYPTOS)("with %s", (_, { ed25519Verify }) => {
    const verdict = ({ public_key, message, signature }: SignedPayload): boolean =>
      ed25519Verify(hexToBytes(public_key), hexToBytes(message), hexToBytes(signature));

    test.each(payloads.good)("accepts $name", (signed) => {
      expect(verdict(signed)).toBe(true);
    });

    test.each(payloads.bad)("refuses the $name", (signed) => {
      expect(verdict(signed)).toBe(false);
    });
  });
});

describe("tags", () => {
  const vectors = loadVectors("tags.json") as {
    tags: { name: string; bytes: string }[];
    bad_tag_names: string[];
    origin_fingerprint: { cluster_id: string; cosigner_public_key: string; result: string };
    client_event_commit: { salt: string; client_event_id: string; result: string };
    api_key_hash: { secret: string; result: string };
    client_revoker: { api_client_id: string; result: string };
    operator_revoker: { public_key: string; result: string };
    log_key_seed: { log_seed: string; origin_fingerprint: string; result: string };
    raft_id: { cluster_id: string; node_id: string; result: string };
  };

  test.each(vectors.tags)("tag $name", ({ name, bytes }) => {
    expect(bytesToHex(tag(name))).toBe(bytes);
  });

  test.each(vectors.bad_tag_names)("refuses the tag name %j", (name) => {
    expect(() => tag(name)).toThrow(RangeError);
  });

  test.each(CRYPTOS)("derives the same hashes with %s", (_, { sha256 }) => {
    const { origin_fingerprint: origin, client_event_commit: commit, log_key_seed: seed } = vectors;
    const { api_key_hash: apiKey, client_revoker: client, operator_revoker: operator, raft_id: raftId } = vectors;
    const own = originFingerprintOf(hexToBytes(origin.cluster_id), hexToBytes(origin.cosigner_public_key), sha256);
    const fingerprint = toOriginFingerprint(hexToBytes(seed.origin_fingerprint));
    expect(bytesToHex(own)).toBe(origin.result);
    expect(bytesToHex(clientEventCommit(hexToBytes(commit.salt), commit.client_event_id, sha256))).toBe(commit.result);
    expect(bytesToHex(apiKeyHash(hexToBytes(apiKey.secret), sha256))).toBe(apiKey.result);
    expect(bytesToHex(clientRevoker(hexToBytes(client.api_client_id), sha256))).toBe(client.result);
    expect(bytesToHex(operatorRevoker(hexToBytes(operator.public_key), sha256))).toBe(operator.result);
    expect(bytesToHex(logKeySeed(hexToBytes(seed.log_seed), fingerprint, sha256))).toBe(seed.result);
    expect(raftIdOf(hexToBytes(raftId.cluster_id), raftId.node_id, sha256)).toBe(BigInt(raftId.result));
  });

  test("refuses inputs of another length, and raft id 0", () => {
    const [, [, { sha256 }]] = CRYPTOS as [unknown, (typeof CRYPTOS)[number]];
    const short = new Uint8Array(31);
    expect(codeOf(() => apiKeyHash(short, sha256))).toBe("length_invalid");
    expect(codeOf(() => clientEventCommit(short, "a", sha256))).toBe("length_invalid");
    expect(codeOf(() => clientRevoker(short, sha256))).toBe("length_invalid");
    expect(codeOf(() => operatorRevoker(short, sha256))).toBe("length_invalid");
    expect(codeOf(() => originFingerprintOf(short, new Uint8Array(32), sha256))).toBe("length_invalid");
    expect(codeOf(() => clientEventCommit(new Uint8Array(32), "ä", sha256))).toBe("text_invalid");
    expect(() => raftIdOf(new Uint8Array(32), "a", () => new Uint8Array(32))).toThrow(RangeError);
  });
});

describe("EventLeafWriter", () => {
  const events = leaves.good.flatMap(({ leaf }) => {
    const decoded = decodeLeaf(hexToBytes(leaf));
    if (decoded.kind !== LEAF_KIND.event) return [];
    const { eventHash: other, sequence } = decoded;
    const unnamed = { ...decoded, clientEventCommit: new Uint8Array(32), eventHash: decoded.parentAnchorId };
    // As a decoded command has it: one object for every event without references.
    return [decoded, { ...unnamed, semanticAnchor: EMPTY_SEMANTIC_ANCHOR, sequence: sequence + 2 ** 33 }].concat({
      ...unnamed,
      semanticAnchor: { ...EMPTY_SEMANTIC_ANCHOR, yieldRef: other },
    });
  });

  test.each(CRYPTOS)("writes every event after every other one as encodeLeaf does: %s", (_name, { sha256 }) => {
    expect(events.length).toBeGreaterThan(1);
    for (const before of events) {
      for (const event of events) {
        const writer = new EventLeafWriter(event.originFingerprint, event.acceptedMs);
        writer.write(before, before, sha256);
        const anchorId = writer.write(event, event, sha256);
        expect(bytesToHex(writer.leaf)).toBe(bytesToHex(encodeLeaf(event)));
        expect(anchorId).toEqual(anchorIdOf(encodeLeaf(event), sha256));
      }
    }
  });

  test("refuses what encodeLeaf refuses", () => {
    const [event] = events;
    const { sha256 } = nobleCrypto;
    if (event === undefined) throw new RangeError("no event");
    const writer = new EventLeafWriter(event.originFingerprint, event.acceptedMs);
    const short = event.eventHash.subarray(1);
    expect(() => writer.write({ ...event, depth: 0 }, event, sha256)).toThrow(RangeError);
    expect(() => writer.write({ ...event, depth: 2 ** 53 }, event, sha256)).toThrow(RangeError);
    expect(() => writer.write({ ...event, sequence: 1.5 }, event, sha256)).toThrow(RangeError);
    expect(() => writer.write(event, { ...event, eventHash: short }, sha256)).toThrow(RangeError);
    expect(() => writer.write(event, { ...event, clientEventCommit: short }, sha256)).toThrow(RangeError);
    const semanticAnchor = { ...event.semanticAnchor, bondRef: short };
    expect(() => writer.write(event, { ...event, semanticAnchor }, sha256)).toThrow(RangeError);
  });
});
