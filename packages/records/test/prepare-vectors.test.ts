/** What SDKs are tested with is what the service takes, and what it refuses. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import {
  createClaimSchema,
  createEventSchema,
  createGrantSchema,
  parseBody,
  revokeSchema,
} from "@event-anchoring/api-contract";
import type {
  CreateClaimRequest,
  CreateEventRequest,
  CreateGrantRequest,
  RevokeRequest,
} from "@event-anchoring/api-contract";
import {
  anchorIdOf,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  decodeLeaf,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { signaturesOfLeaf } from "../src/index.ts";

const { sha256, ed25519Verify } = nodeCrypto;

type Fields = Readonly<Record<string, unknown>>;

interface Family {
  readonly good: readonly (Fields & { readonly name: string; readonly input: Fields; readonly request: Fields })[];
  readonly bad: readonly {
    readonly name: string;
    readonly error: string;
    readonly field: string;
    readonly input: Fields;
  }[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/prepare.json", import.meta.url), "utf8"),
) as Readonly<Record<"claims" | "grants" | "events" | "revocations", Family>>;

const { claims, grants, events, revocations } = vectors;

/** The request that the service reads. */
function read<Request>(schema: Parameters<typeof parseBody<Request>>[0], body: Fields): Request {
  const parsed = parseBody(schema, JSON.stringify(body));
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problem));
  return parsed.value;
}

function payloadsOf(entry: Fields): Fields {
  return Object.fromEntries(
    Object.entries(entry).filter(([name]) => name.endsWith("_payload") || name.endsWith("_digest")),
  );
}

function signed(who: string, payload: Uint8Array): Fields {
  return { [`${who}_payload`]: bytesToHex(payload), [`${who}_digest`]: bytesToHex(sha256(payload)) };
}

/** The bytes that the parties of a request have signed, as the service makes them from what it has read. */
const PAYLOADS = {
  claims(request: Fields): Fields {
    const claim: CreateClaimRequest = read(createClaimSchema, request);
    const payload = claimPayload(claim);
    const second = claimIssuerPayload(payload, claim.subjectSignature, sha256);
    return { ...signed("subject", payload), ...signed("issuer", second) };
  },
  grants(request: Fields): Fields {
    const grant: CreateGrantRequest = read(createGrantSchema, request);
    const payload = grantPayload(grant);
    const second = grantWitnessPayload(payload, grant.grantorSignature, sha256);
    return { ...signed("grantor", payload), ...signed("witness", second) };
  },
  events(request: Fields): Fields {
    const event: CreateEventRequest = read(createEventSchema, request);
    return event.actor === null ? {} : signed("actor", eventActorPayload(event));
  },
  revocations(request: Fields, input: Fields): Fields {
    const revocation: RevokeRequest = read(revokeSchema, request);
    const target = { anchorId: input["target_anchor_id"], origin: input["target_origin_fingerprint"] };
    const originFingerprint = toOriginFingerprint(hexToBytes(String(target.origin)));
    const targetAnchorId = toAnchorId(hexToBytes(String(target.anchorId)));
    if (revocation.signer === null) return {};
    return signed("revoker", revocationPayload({ ...revocation, originFingerprint, targetAnchorId }));
  },
} as const;

const SCHEMAS = {
  claims: createClaimSchema,
  grants: createGrantSchema,
  events: createEventSchema,
  revocations: revokeSchema,
} as const;

const FAMILIES = ["claims", "grants", "events", "revocations"] as const;

describe.each(FAMILIES)("good %s", (family) => {
  test.each(vectors[family].good.map((entry) => [entry.name, entry] as const))("%s", (_, entry) => {
    expect(PAYLOADS[family](entry.request, entry.input)).toEqual(payloadsOf(entry));
    const leaf = hexToBytes(String(entry["leaf"]));
    expect(bytesToHex(anchorIdOf(leaf, sha256))).toBe(entry["anchor_id"]);
    for (const { publicKey, message, signature } of signaturesOfLeaf(decodeLeaf(leaf), sha256))
      expect(ed25519Verify(publicKey, message, signature)).toBe(true);
  });
});

/** Those that are a field of the body; a revocation's target is in the path. */
function inBody(family: (typeof FAMILIES)[number]): Family["bad"] {
  return vectors[family].bad.filter(({ field }) => !field.startsWith("target_"));
}

describe.each(FAMILIES)("bad %s", (family) => {
  test.each(inBody(family).map((entry) => [entry.name, entry] as const))("%s", (_, { field, input }) => {
    const [good] = vectors[family].good.filter((entry) => !/unsigned/.test(entry.name));
    const name = field.split(".")[0] ?? field;
    const { [name]: __, ...rest } = good?.request ?? {};
    const body = name in input ? { ...rest, [name]: input[name] } : rest;
    const parsed = parseBody<unknown>(SCHEMAS[family], JSON.stringify(body));
    expect(parsed.ok).toBe(false);
    const places = parsed.ok ? [] : (parsed.problem.errors ?? []).map((item) => JSON.stringify(item));
    expect(places.some((place) => place.includes(name))).toBe(true);
  });
});

test("the bad outnumber the good", () => {
  for (const { good, bad } of [claims, grants, events, revocations]) {
    expect(bad.length).toBeGreaterThan(good.length);
    expect(new Set(bad.map(({ name }) => name)).size).toBe(bad.length);
    expect(new Set(bad.map(({ error }) => error))).toEqual(new Set(["invalid_input"]));
  }
});
