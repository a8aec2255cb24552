import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { draftOf, formatDraft, nextSignature, parseDraft, requestOf, withSignature } from "../src/drafts/draft.ts";
import type { DraftKind } from "../src/drafts/draft.ts";

type Json = Readonly<Record<string, unknown>>;

interface Family {
  readonly good: readonly (Json & { readonly name: string; readonly input: Json; readonly request: Json })[];
  readonly bad: readonly { readonly name: string; readonly field: string; readonly input: Json }[];
}

const VECTORS = JSON.parse(
  readFileSync(new URL("../../../test/vectors/prepare.json", import.meta.url), "utf8"),
) as Readonly<Record<"claims" | "grants" | "events" | "revocations", Family>>;

const FAMILIES: readonly (readonly [DraftKind, Family])[] = [
  ["claim", VECTORS.claims],
  ["grant", VECTORS.grants],
  ["event", VECTORS.events],
  ["revocation", VECTORS.revocations],
];

/** What the vectors leave to the path of the request. */
const extraOf = (kind: DraftKind): Json => (kind === "revocation" ? { target_kind: "claim" } : {});

const GOOD = FAMILIES.flatMap(([kind, { good }]) => good.map((it) => ({ title: `${kind}: ${it.name}`, kind, it })));
const BAD = FAMILIES.flatMap(([kind, { bad }]) => bad.map((it) => ({ title: `${kind}: ${it.name}`, kind, it })));

describe("drafts", () => {
  test.each(GOOD)("$title: the bytes, signatures and request of the vectors", ({ kind, it }) => {
    let draft = draftOf(kind, { ...it.input, ...extraOf(kind) });
    for (let next = nextSignature(draft); next !== null; next = nextSignature(draft)) {
      expect(bytesToHex(next.payload)).toBe(it[`${next.party}_payload`]);
      expect(bytesToHex(nodeCrypto.sha256(next.payload))).toBe(it[`${next.party}_digest`]);
      const signature = createSigner(hexToBytes(String(it[`${next.party}_seed`]), 32)).sign(next.payload);
      expect(bytesToHex(signature)).toBe(it[`${next.party}_signature`]);
      draft = withSignature(draft, signature);
      expect(parseDraft(formatDraft(draft), "draft")).toEqual(draft);
    }
    expect(requestOf(draft).body).toEqual(withoutZeros(it.request));
  });

  test.each(BAD)("refuses $title", ({ kind, it }) => {
    expect(() => draftOf(kind, { ...it.input, ...extraOf(kind) })).toThrow(
      expect.objectContaining({ code: "invalid_input", message: expect.stringContaining(it.field) }),
    );
  });

  test("has at least as many bad inputs as good ones", () => {
    expect(BAD.length).toBeGreaterThan(GOOD.length);
  });
});

/** Times of 0 and what is left out are one request. */
function withoutZeros(request: Json): Json {
  const times = ["issued_at", "not_before", "expires_at", "suspect_since"];
  return Object.fromEntries(Object.entries(request).filter(([name, value]) => !(times.includes(name) && value === 0)));
}

describe("a draft in a file", () => {
  const [claim] = VECTORS.claims.good;
  const draft = draftOf("claim", claim?.input ?? {});
  const next = nextSignature(draft);
  const good = hexToBytes(String(claim?.["subject_signature"]), 64);

  test("takes no signature but that of the next party over its bytes", () => {
    const ofTheSecond = hexToBytes(String(claim?.["issuer_signature"]), 64);
    for (const bad of [new Uint8Array(64), ofTheSecond, good.map((byte, at) => (at === 5 ? byte ^ 1 : byte))]) {
      expect(() => withSignature(draft, bad)).toThrow(expect.objectContaining({ code: "signature_invalid" }));
    }
    expect(next?.party).toBe("subject");
  });

  test("is not sent before everybody has signed", () => {
    expect(() => requestOf(draft)).toThrow(expect.objectContaining({ code: "not_signed" }));
    expect(() => requestOf(withSignature(draft, good))).toThrow(expect.objectContaining({ code: "not_signed" }));
  });

  test.each([
    ["no JSON", () => "claim", "draft_malformed"],
    ["another format", (text: string) => text.replace("request/v1", "request/v2"), "draft_malformed"],
    ["another kind", (text: string) => text.replace('"claim"', '"trust"'), "draft_malformed"],
    [
      "a field altered after it was signed",
      (text: string) => text.replace('"attribute_hash": "a', '"attribute_hash": "b'),
      "signature_invalid",
    ],
    [
      "a signature altered",
      (text: string) => text.replace('"subject_signature": "2', '"subject_signature": "3'),
      "signature_invalid",
    ],
    ["a field more", (text: string) => text.replace('"request": {', '"request": {"note": 1,'), "invalid_input"],
  ])("refuses %s", (_title, alter, code) => {
    const text = formatDraft(withSignature(draft, good));
    const altered = alter(text);
    expect(altered).not.toBe(text);
    expect(() => parseDraft(altered, "draft")).toThrow(expect.objectContaining({ code }));
  });
});
