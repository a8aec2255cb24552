import { describe, expect, test } from "@jest/globals";
import { hexToBytes } from "@event-anchoring/protocol";
import { crosscheck } from "../src/crosscheck.ts";
import {
  InvalidInput,
  LocalKey,
  SigningFailed,
  fromWireNames,
  prepareClaimAnchor,
  prepareEventAnchor,
  prepareGrantAnchor,
  prepareRevocation,
} from "../src/index.ts";
import type { ClaimAnchorContent, PreparedRequest } from "../src/index.ts";
import { vectors } from "./vectors.ts";

interface GoodCase {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly request: Readonly<Record<string, unknown>>;
  readonly [member: string]: unknown;
}

interface BadCase {
  readonly name: string;
  readonly error: string;
  readonly field: string;
  readonly input: unknown;
}

interface Family {
  readonly good: readonly GoodCase[];
  readonly bad: readonly BadCase[];
}

const FAMILIES = [
  { family: "claims", op: "prepare_claim", roles: ["subject", "issuer"], prepare: prepareClaimAnchor },
  { family: "grants", op: "prepare_grant", roles: ["grantor", "witness"], prepare: prepareGrantAnchor },
  { family: "events", op: "prepare_event", roles: ["actor"], prepare: prepareEventAnchor },
  { family: "revocations", op: "prepare_revocation", roles: ["revoker"], prepare: prepareRevocation },
] as const;

const all = vectors("prepare") as Record<(typeof FAMILIES)[number]["family"], Family>;

function answer(request: object): { ok?: Record<string, unknown>; error?: Record<string, unknown> } {
  return JSON.parse(crosscheck(JSON.stringify(request))) as { ok?: Record<string, unknown> };
}

describe.each(FAMILIES)("$family of the shared vectors", ({ family, op, roles, prepare }) => {
  test.each(all[family].good)("$name", (vector) => {
    const signatures: Record<string, unknown> = {};
    for (const role of roles) {
      if (vector[`${role}_seed`] === undefined) continue;
      const shown = answer({ op, input: vector.input, ...signatures }).ok;
      expect(shown?.[`${role}_payload`]).toBe(vector[`${role}_payload`]);
      expect(shown?.[`${role}_digest`]).toBe(vector[`${role}_digest`]);
      const signed = answer({ op: "sign", seed: vector[`${role}_seed`], payload: shown?.[`${role}_payload`] }).ok;
      expect(signed?.["signature"]).toBe(vector[`${role}_signature`]);
      signatures[`${role}_signature`] = signed?.["signature"];
    }
    expect(answer({ op, input: vector.input, ...signatures }).ok?.["request"]).toEqual(vector.request);
  });

  test.each(all[family].good)("$name, signed step by step from its JSON", (vector) => {
    const prepared: PreparedRequest = prepare(fromWireNames(vector.input) as never);
    const signatures: string[] = [];
    for (let next = prepared.nextPayload(signatures); next !== null; next = prepared.nextPayload(signatures)) {
      expect(next.hex).toBe(vector[`${next.role}_payload`]);
      expect(next.role).toBe(prepared.signingOrder[signatures.length]);
      signatures.push(String(vector[`${next.role}_signature`]));
    }
    const request = prepared.request(...signatures);
    expect(request).toEqual(vector.request);
    const names = Object.keys(request).filter((name) => !name.endsWith("_signature"));
    expect(prepared.unsigned).toEqual(Object.fromEntries(names.map((name) => [name, request[name]])));
  });

  test.each(all[family].bad)("refused: $name", ({ input, error, field }) => {
    expect(answer({ op, input })).toEqual({ error: { code: error, field } });
  });
});

describe("inputs", () => {
  const claim: ClaimAnchorContent = {
    originFingerprint: new Uint8Array(32).fill(1),
    entityFingerprint: "Aa".repeat(32),
    attributeType: "0x1001",
    attributeHash: new Uint8Array(32).fill(3),
    subjectPublicKey: LocalKey.fromSeed("61".repeat(32)).publicKey,
    issuerPublicKey: LocalKey.fromSeed("62".repeat(32)).publicKey,
  };

  test("bytes and hex are the same", () => {
    const asHex = { ...claim, originFingerprint: "01".repeat(32), entityFingerprint: hexToBytes("aa".repeat(32)) };
    expect(prepareClaimAnchor(asHex).subjectPayload.hex).toBe(prepareClaimAnchor(claim).subjectPayload.hex);
  });

  test("what was prepared does not change with the caller's array", () => {
    const mine = new Uint8Array(32).fill(1);
    const prepared = prepareClaimAnchor({ ...claim, originFingerprint: mine });
    mine.fill(9);
    expect(prepared.fields.originFingerprint).toEqual(new Uint8Array(32).fill(1));
  });

  test.each([
    ["31 bytes", new Uint8Array(31)],
    ["33 bytes", new Uint8Array(33)],
    ["other numbers than bytes", new Uint16Array(32)],
    ["an ArrayBuffer", new ArrayBuffer(32)],
    ["a list", Array.from({ length: 32 }, () => 0)],
    ["undefined", undefined],
  ])("%s are no 32 bytes", (_, value) => {
    const given = { ...claim, attributeHash: value } as ClaimAnchorContent;
    expect(() => prepareClaimAnchor(given)).toThrow(InvalidInput);
  });

  test("a misspelt member is refused, not left out", () => {
    const given = { ...claim, expires_at: 5 } as ClaimAnchorContent;
    expect(() => prepareClaimAnchor(given)).toThrow("expires_at: unknown");
    const event = { originFingerprint: "01".repeat(32), eventHash: "02".repeat(32), semanticAnchor: { iris_ref: "" } };
    expect(() => prepareEventAnchor(event as never)).toThrow("semanticAnchor.iris_ref: unknown");
  });

  test("names of JSON are not taken in this language's casing, under which they would pass for others", () => {
    expect(() => fromWireNames({ eventHash: "" })).toThrow(InvalidInput);
    expect(() => fromWireNames({ semantic_anchor: { irisRef: "" } })).toThrow("irisRef: unknown");
    expect(fromWireNames({ semantic_anchor: { iris_ref: [1] } })).toEqual({ semanticAnchor: { irisRef: [1] } });
  });

  test("a message never repeats the value", () => {
    const secret = "s3cret".repeat(11);
    expect(() => prepareClaimAnchor({ ...claim, attributeHash: secret })).toThrow(/^(?!.*s3cret)/);
  });

  test.each([undefined, null, 5, "text", []])("%p is no content", (content) => {
    expect(() => prepareGrantAnchor(content as never)).toThrow(InvalidInput);
    expect(() => prepareRevocation(content as never)).toThrow(InvalidInput);
  });

  test("another key's signature, and one over the wrong bytes, never get into a request", () => {
    const prepared = prepareClaimAnchor(claim);
    const [subject, issuer] = [LocalKey.fromSeed("61".repeat(32)), LocalKey.fromSeed("62".repeat(32))];
    const first = subject.sign(prepared.subjectPayload.bytes);
    const second = issuer.sign(prepared.issuerPayload(first).bytes);
    expect(Object.keys(prepared.request(first, second))).toContain("issuer_signature");
    const early = issuer.sign(prepared.subjectPayload.bytes);
    expect(() => prepared.request(first, early)).toThrow(SigningFailed);
    expect(() => prepared.request(issuer.sign(prepared.subjectPayload.bytes), second)).toThrow(SigningFailed);
    expect(() => prepared.request(first, "00".repeat(64))).toThrow(SigningFailed);
  });

  test("signing order is written down", () => {
    expect(prepareClaimAnchor(claim).signingOrder).toEqual(["subject", "issuer"]);
    expect(prepareClaimAnchor(claim).subjectPayload.bytes).toHaveLength(207);
  });
});
