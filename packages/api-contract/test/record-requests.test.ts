import { describe, expect, test } from "@jest/globals";
import {
  claimQuerySchema,
  consistencyQuerySchema,
  createBatchSchema,
  createClaimSchema,
  createEventSchema,
  createGrantSchema,
  docsAssetPathSchema,
  emptyBodySchema,
  grantQuerySchema,
  listQuerySchema,
  parseBody,
  parsePath,
  parseQuery,
  revokeSchema,
  verifyClaimSchema,
  verifyGrantSchema,
} from "@event-anchoring/api-contract";
import type { Parsed, ProblemItem } from "@event-anchoring/api-contract";

const hex = (byte: number, length = 32): string => byte.toString(16).padStart(2, "0").repeat(length);
const bytes = (byte: number, length = 32): Uint8Array => new Uint8Array(length).fill(byte);

function valueOf<T>(result: Parsed<T>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.problem));
  return result.value;
}

function faultOf(result: Parsed<unknown>): { code: string; items: readonly ProblemItem[] } {
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`);
  return { code: result.problem.code, items: result.problem.errors ?? [] };
}

const claim = {
  origin_fingerprint: hex(1),
  entity_fingerprint: hex(2),
  attribute_type: 7,
  attribute_hash: hex(3),
  subject_public_key: hex(4),
  subject_signature: hex(5, 64),
  issuer_public_key: hex(6),
  issuer_signature: hex(7, 64),
};

const grant = {
  origin_fingerprint: hex(1),
  grantor_claim_ref: hex(2),
  grantee_claim_ref: hex(3),
  scope_hash: hex(4),
  delegation_depth: 0,
  grantor_public_key: hex(5),
  grantor_signature: hex(6, 64),
  witness_public_key: hex(7),
  witness_signature: hex(8, 64),
};

const createClaim = (body: object) => parseBody(createClaimSchema, JSON.stringify(body));
const createGrant = (body: object) => parseBody(createGrantSchema, JSON.stringify(body));
const revoke = (body: object) => parseBody(revokeSchema, JSON.stringify(body));

describe("POST /v1/claim-anchors", () => {
  test("the fields of the interface alone leave every time at zero", () => {
    expect(valueOf(createClaim(claim))).toEqual({
      originFingerprint: bytes(1),
      entityFingerprint: bytes(2),
      attributeType: 7,
      attributeHash: bytes(3),
      issuedAt: 0,
      expiresAt: 0,
      subjectPublicKey: bytes(4),
      subjectSignature: bytes(5, 64),
      issuerPublicKey: bytes(6),
      issuerSignature: bytes(7, 64),
    });
  });

  test.each([
    [0, 0],
    [0xffff_ffff, 0xffff_ffff],
    ["0x0", 0],
    ["0x1F", 31],
    ["0x0000001f", 31],
    ["0xffffffff", 0xffff_ffff],
  ])("attribute_type %j", (attribute_type, attributeType) => {
    expect(valueOf(createClaim({ ...claim, attribute_type }))).toMatchObject({ attributeType });
  });

  test.each([0x1_0000_0000, "31", "0x", "0X1f", "0x1 ", "0x100000000", "0xg", "", null, true, [1], "1f"])(
    "attribute_type %j is refused",
    (attribute_type) => {
      const fault = faultOf(createClaim({ ...claim, attribute_type }));
      expect([fault.code, fault.items[0]?.pointer]).toEqual(["invalid_request", "/attribute_type"]);
    },
  );

  test.each(Object.keys(claim))("%s has to be there", (field) => {
    const { [field]: _left, ...rest } = claim as Record<string, unknown>;
    expect(faultOf(createClaim(rest)).items).toEqual([
      expect.objectContaining({ pointer: `/${field}`, code: "required" }),
    ]);
  });

  test.each([
    ["subject_signature", hex(5, 63)],
    ["issuer_signature", hex(5, 65)],
    ["issuer_signature", ""],
    ["subject_public_key", hex(5, 31)],
    ["issued_at", "0"],
    ["issued_at", "2026-01-01T00:00:00Z"],
    ["expires_at", []],
    ["state", "active"],
  ])("%s: %j is refused", (field, value) => {
    expect(faultOf(createClaim({ ...claim, [field]: value })).items[0]).toMatchObject({ pointer: `/${field}` });
  });

  test("absent, null and 0 are the same time", () => {
    for (const expires_at of [undefined, null, 0]) {
      expect(valueOf(createClaim({ ...claim, expires_at }))).toMatchObject({ expiresAt: 0 });
    }
    expect(valueOf(createClaim({ ...claim, expires_at: 5, issued_at: 2 ** 53 - 1 }))).toMatchObject({
      expiresAt: 5,
      issuedAt: 2 ** 53 - 1,
    });
  });
});

describe("POST /v1/grant-anchors", () => {
  test("an empty parent is a root grant", () => {
    for (const parent_grant_ref of [undefined, null, "", hex(0)]) {
      expect(valueOf(createGrant({ ...grant, parent_grant_ref }))).toEqual({
        originFingerprint: bytes(1),
        grantorClaimRef: bytes(2),
        granteeClaimRef: bytes(3),
        parentGrantRef: bytes(0),
        scopeHash: bytes(4),
        delegationDepth: 0,
        issuedAt: 0,
        notBefore: 0,
        expiresAt: 0,
        grantorPublicKey: bytes(5),
        grantorSignature: bytes(6, 64),
        witnessPublicKey: bytes(7),
        witnessSignature: bytes(8, 64),
      });
    }
  });

  test.each([
    ["delegation_depth", 0x1_0000_0000],
    ["delegation_depth", "1"],
    ["delegation_depth", "0x1"],
    ["delegation_depth", null],
    ["parent_grant_ref", "0"],
    ["parent_grant_ref", 0],
    ["grantor_claim_ref", ""],
    ["grantor_claim_ref", null],
    ["not_before", "now"],
    ["witness_signature", hex(8)],
    ["depth", 1],
  ])("%s: %j is refused", (field, value) => {
    expect(faultOf(createGrant({ ...grant, [field]: value })).items[0]).toMatchObject({ pointer: `/${field}` });
  });

  test.each(Object.keys(grant))("%s has to be there", (field) => {
    const { [field]: _left, ...rest } = grant as Record<string, unknown>;
    expect(faultOf(createGrant(rest)).items).toEqual([
      expect.objectContaining({ pointer: `/${field}`, code: "required" }),
    ]);
  });
});

describe("revoking and erasing", () => {
  test("nothing is needed", () => {
    const nothing = { originFingerprint: null, reason: 0, suspectSince: 0, issuedAt: 0, signer: null };
    expect(valueOf(revoke({}))).toEqual(nothing);
    const nulls = { origin_fingerprint: null, reason: null, suspect_since: null, issued_at: null };
    expect(valueOf(revoke({ ...nulls, revoker_public_key: null, revoker_signature: null }))).toEqual(nothing);
    expect(valueOf(parseBody(emptyBodySchema, "{}"))).toEqual({});
  });

  test("everything may be said", () => {
    const body = { origin_fingerprint: hex(1), reason: "issued_in_error", suspect_since: 4, issued_at: 5 };
    expect(valueOf(revoke({ ...body, revoker_public_key: hex(2), revoker_signature: hex(3, 64) }))).toEqual({
      originFingerprint: bytes(1),
      reason: 5,
      suspectSince: 4,
      issuedAt: 5,
      signer: { publicKey: bytes(2), signature: bytes(3, 64) },
    });
  });

  test.each([
    [{ revoker_public_key: hex(2) }, "/revoker_signature"],
    [{ revoker_public_key: hex(2), revoker_signature: null }, "/revoker_signature"],
    [{ revoker_signature: hex(2, 64) }, "/revoker_public_key"],
    [{ revoker_public_key: "", revoker_signature: "" }, "/revoker_public_key"],
    [{ reason: "because" }, "/reason"],
    [{ reason: "" }, "/reason"],
    [{ reason: 1 }, "/reason"],
    [{ reason: "toString" }, "/reason"],
    [{ suspect_since: "1" }, "/suspect_since"],
    [{ authority: "operator" }, "/authority"],
    [{ origin_fingerprint: "" }, "/origin_fingerprint"],
  ])("%j is refused", (body, pointer) => {
    const fault = faultOf(revoke(body));
    expect([fault.code, fault.items[0]?.pointer]).toEqual(["invalid_request", pointer]);
  });

  test.each(["", "null", "[]", '{"a":1}', "{}{}"])("to erase, %j is refused", (text) => {
    expect(["invalid_request", "json_invalid"]).toContain(faultOf(parseBody(emptyBodySchema, text)).code);
  });
});

describe("signed events", () => {
  const event = { origin_fingerprint: hex(1), event_hash: hex(2) };
  const create = (body: object) => parseBody(createEventSchema, JSON.stringify({ ...event, ...body }));
  const createBatch = (item: object) =>
    parseBody(
      createBatchSchema,
      JSON.stringify({ origin_fingerprint: hex(1), events: [{ event_hash: hex(2) }, item] }),
    );

  test("a key and a signature, alone and in a batch", () => {
    const actor = { actor_public_key: hex(3), actor_signature: hex(4, 64) };
    const signer = { publicKey: bytes(3), signature: bytes(4, 64) };
    expect(valueOf(create(actor)).actor).toEqual(signer);
    expect(valueOf(createBatch({ event_hash: hex(2), ...actor })).events.map(({ actor: who }) => who)).toEqual([
      null,
      signer,
    ]);
    expect(valueOf(create({ actor_public_key: null, actor_signature: null })).actor).toBeNull();
  });

  test.each([
    [{ actor_public_key: hex(3) }, "/actor_signature"],
    [{ actor_signature: hex(3, 64) }, "/actor_public_key"],
    [{ actor_public_key: null, actor_signature: hex(3, 64) }, "/actor_public_key"],
    [{ actor_public_key: hex(3), actor_signature: hex(3) }, "/actor_signature"],
  ])("refused: %j", (body, pointer) => {
    expect(faultOf(create(body)).items[0]).toMatchObject({ pointer });
    expect(faultOf(createBatch({ event_hash: hex(2), ...body })).items[0]).toMatchObject({
      pointer: `/events/1${pointer}`,
    });
  });
});

describe("queries", () => {
  test("of claims and grants", () => {
    const pair = `entity_fingerprint=${hex(0xaa).toUpperCase()}&attribute_type=`;
    expect(valueOf(parseQuery(claimQuerySchema, `${pair}0x1f`))).toEqual({
      history: null,
      entityFingerprint: bytes(0xaa),
      attributeType: 31,
    });
    expect(valueOf(parseQuery(claimQuerySchema, `${pair}31`)).attributeType).toBe(31);
    for (const bad of ["1f", "031", "4294967296", "0x100000000", "", "-1", "0x", "1e3", "0x1&attribute_type=1"]) {
      expect(faultOf(parseQuery(claimQuerySchema, pair + bad)).items[0]).toMatchObject({ parameter: "attribute_type" });
    }
    expect(faultOf(parseQuery(claimQuerySchema, "")).items).toEqual([
      expect.objectContaining({ parameter: "entity_fingerprint", code: "required" }),
    ]);
    expect(faultOf(parseQuery(grantQuerySchema, "")).items).toHaveLength(2);
    expect(
      valueOf(parseQuery(grantQuerySchema, `grantor_fingerprint=${hex(1)}&grantee_fingerprint=${hex(2)}`)),
    ).toEqual({ history: null, grantorFingerprint: bytes(1), granteeFingerprint: bytes(2) });
    expect(faultOf(parseQuery(grantQuerySchema, `grantor_fingerprint=${hex(1)}`)).items).toEqual([
      expect.objectContaining({ parameter: "grantee_fingerprint", code: "required" }),
    ]);
  });

  const entity = `entity_fingerprint=${hex(1)}`;
  const [grantor, grantee] = [`grantor_fingerprint=${hex(1)}`, `grantee_fingerprint=${hex(2)}`];

  test.each([
    [entity, { entityFingerprint: bytes(1), attributeType: null }],
    [`${entity}&attribute_type=0x1f`, { entityFingerprint: bytes(1), attributeType: 31 }],
  ])("a history of claims: %s", (search, wanted) => {
    const query = `${search}&history=true`;
    const history = { cursor: null, limit: 20 };
    expect(valueOf(parseQuery(claimQuerySchema, query))).toEqual({ ...wanted, history });
    const page = valueOf(parseQuery(claimQuerySchema, `${query}&cursor=a-_9&limit=100`));
    expect(page).toEqual({ ...wanted, history: { cursor: "a-_9", limit: 100 } });
  });

  test.each([
    [grantor, { by: "grantor", fingerprint: bytes(1) }],
    [grantee, { by: "grantee", fingerprint: bytes(2) }],
    [`${grantor}&${grantee}`, { by: "both", grantorFingerprint: bytes(1), granteeFingerprint: bytes(2) }],
  ])("a history of grants: %s", (search, filter) => {
    const query = `${search}&history=true&limit=5`;
    expect(valueOf(parseQuery(grantQuerySchema, query))).toEqual({ filter, history: { cursor: null, limit: 5 } });
  });

  test.each([
    [claimQuerySchema, "history=true", "entity_fingerprint", "required"],
    [claimQuerySchema, entity, "attribute_type", "required"],
    [claimQuerySchema, `${entity}&history=false`, "attribute_type", "required"],
    [claimQuerySchema, `${entity}&history=1`, "history", "wrong_format"],
    [claimQuerySchema, `${entity}&history=`, "history", "wrong_format"],
    [claimQuerySchema, `${entity}&history=TRUE`, "history", "wrong_format"],
    [claimQuerySchema, `${entity}&history=true&history=true`, "history", "duplicate_key"],
    [claimQuerySchema, `${entity}&history=true&limit=0`, "limit", "wrong_format"],
    [claimQuerySchema, `${entity}&history=true&limit=101`, "limit", "wrong_format"],
    [claimQuerySchema, `${entity}&history=true&cursor=`, "cursor", "wrong_format"],
    [claimQuerySchema, `${entity}&history=true&attribute_type=`, "attribute_type", "wrong_format"],
    [claimQuerySchema, `${entity}&history=true&${grantor}`, "grantor_fingerprint", "unknown_field"],
    [claimQuerySchema, `${entity}&attribute_type=1&cursor=a`, "cursor", "wrong_format"],
    [claimQuerySchema, `${entity}&attribute_type=1&history=false&limit=5`, "limit", "wrong_format"],
    [grantQuerySchema, "history=true", "grantor_fingerprint", "wrong_format"],
    [grantQuerySchema, grantee, "grantor_fingerprint", "required"],
    [grantQuerySchema, `${grantor}&history=false`, "grantee_fingerprint", "required"],
    [grantQuerySchema, `${grantor}&${grantee}&cursor=a`, "cursor", "wrong_format"],
    [grantQuerySchema, `${grantor}&${grantee}&limit=5`, "limit", "wrong_format"],
    [grantQuerySchema, `${grantor}&history=true&grantee_fingerprint=`, "grantee_fingerprint", "wrong_format"],
    [grantQuerySchema, `${grantor}&history=true&${entity}`, "entity_fingerprint", "unknown_field"],
  ])("%# no history: %s", (schema, search, parameter, code) => {
    const { code: problem, items } = faultOf(parseQuery<unknown>(schema, search));
    expect(problem).toBe("invalid_request");
    expect(items).toContainEqual(expect.objectContaining({ parameter, code }));
  });

  test.each([
    [`event_hash=${hex(1)}`, { by: "event_hash", eventHash: bytes(1) }],
    [`iris_ref=${hex(2)}`, { by: "iris_ref", anchorId: bytes(2) }],
    [`grant_ref=${hex(3)}`, { by: "grant_ref", anchorId: bytes(3) }],
    ["client_event_id=a%20b", { by: "client_event_id", clientEventId: "a b" }],
  ])("a list by %s", (search, filter) => {
    expect(valueOf(parseQuery(listQuerySchema, search))).toEqual({ filter, cursor: null, limit: 20 });
    expect(valueOf(parseQuery(listQuerySchema, `${search}&limit=100&cursor=a-_9`))).toEqual({
      filter,
      cursor: "a-_9",
      limit: 100,
    });
  });

  test.each([
    ["", "invalid_request"],
    ["limit=5", "invalid_request"],
    [`event_hash=${hex(1)}&iris_ref=${hex(1)}`, "invalid_request"],
    [`event_hash=${hex(1)}&client_event_id=a`, "invalid_request"],
    ["event_hash=", "invalid_request"],
    ["iris_ref=latest", "invalid_request"],
    [`iris_ref=${hex(1)}&limit=0`, "invalid_request"],
    [`iris_ref=${hex(1)}&limit=101`, "invalid_request"],
    [`iris_ref=${hex(1)}&limit=`, "invalid_request"],
    [`iris_ref=${hex(1)}&cursor=`, "invalid_request"],
    [`iris_ref=${hex(1)}&cursor=a%2Fb`, "invalid_request"],
    [`iris_ref=${hex(1)}&cursor=${"a".repeat(65)}`, "invalid_request"],
    [`iris_ref=${hex(1)}&scroll_ref=${hex(1)}`, "invalid_request"],
    ["client_event_id=", "client_event_id_invalid"],
    ["client_event_id=%C3%A9", "client_event_id_invalid"],
  ])("no list: %s", (search, code) => {
    expect(faultOf(parseQuery(listQuerySchema, search)).code).toBe(code);
  });

  test("two sizes, the second at least the first", () => {
    expect(valueOf(parseQuery(consistencyQuerySchema, "from_size=3"))).toEqual({
      originFingerprint: null,
      fromSize: 3,
      toSize: null,
    });
    expect(valueOf(parseQuery(consistencyQuerySchema, "to_size=3&from_size=3"))).toMatchObject({ toSize: 3 });
    for (const bad of [
      "",
      "to_size=3",
      "from_size=0",
      "from_size=3&to_size=2",
      "from_size=1&to_size=0",
      "from_size=01",
    ]) {
      expect(faultOf(parseQuery(consistencyQuerySchema, bad)).code).toBe("invalid_request");
    }
  });

  test("a file of the reference page has a name, not a path", () => {
    expect(valueOf(parsePath(docsAssetPathSchema, { asset: "swagger-ui.css" }))).toEqual({ asset: "swagger-ui.css" });
    for (const asset of ["", "..", "../package.json", "a/b", "A.css", ".env", "a\u0000", "a".repeat(65)]) {
      expect(faultOf(parsePath(docsAssetPathSchema, { asset })).items[0]).toMatchObject({ parameter: "asset" });
    }
  });
});

describe("verifying claims and grants", () => {
  test("trusted roots are claims, at least one if any", () => {
    const verify = (body: object) => parseBody(verifyGrantSchema, JSON.stringify({ anchor_id: hex(1), ...body }));
    expect(valueOf(verify({}))).toEqual({ anchorId: bytes(1), asOf: null, trustedRoots: null });
    expect(valueOf(verify({ trusted_roots: [hex(2)], as_of: 4 }))).toEqual({
      anchorId: bytes(1),
      asOf: { kind: "sequence", sequence: 4 },
      trustedRoots: [bytes(2)],
    });
    for (const trusted_roots of [[], [""], hex(2), [hex(2), 1], Array.from({ length: 33 }, () => hex(2))]) {
      expect(faultOf(verify({ trusted_roots })).items[0]?.pointer).toMatch(/^\/trusted_roots/);
    }
  });

  test.each([
    [{}, "/anchor_id"],
    [{ anchor_id: hex(1), trusted_roots: [hex(1)] }, "/trusted_roots"],
    [{ anchor_id: hex(1), event_hash: hex(1) }, "/event_hash"],
    [{ anchor_id: hex(1), as_of: "2026-02-30T00:00:00Z" }, "/as_of"],
  ])("a claim: %j is refused", (body, pointer) => {
    expect(faultOf(parseBody(verifyClaimSchema, JSON.stringify(body))).items[0]).toMatchObject({ pointer });
  });
});
