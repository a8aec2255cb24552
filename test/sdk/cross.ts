import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createSigner } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import { CrosscheckProcess, availableSdks } from "@event-anchoring/testkit/sdks";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";
import { changed } from "../../packages/sdk-typescript/test/vectors.ts";

// What one SDK prepares and signs, the others verify, and the service accepts. Each SDK is asked over JSON lines.

const VECTORS = join(dirname(fileURLToPath(import.meta.url)), "..", "vectors");
const { sdks, missing } = availableSdks();
for (const reason of missing) process.stderr.write(`test/sdk/cross.ts goes without ${reason}\n`);

type Fields = Readonly<Record<string, unknown>>;

/** How records of one kind are signed, in order. */
const KINDS = {
  claim: { op: "prepare_claim", roles: ["subject", "issuer"], alters: "attribute_hash" },
  grant: { op: "prepare_grant", roles: ["grantor", "witness"], alters: "scope_hash" },
  event: { op: "prepare_event", roles: ["actor"], alters: "event_hash" },
  revocation: { op: "prepare_revocation", roles: ["revoker"], alters: "reason" },
} as const;

type Kind = keyof typeof KINDS;

interface Signed {
  readonly request: Fields;
  /** By their wire names. */
  readonly signatures: Fields;
  /** What each party signed, in order. */
  readonly made: readonly { readonly publicKey: unknown; readonly payload: unknown; readonly signature: unknown }[];
}

class Key {
  readonly seed = randomBytes(32).toString("hex");
  readonly publicKey: string;

  constructor() {
    this.publicKey = bytesToHex(createSigner(Uint8Array.from(Buffer.from(this.seed, "hex"))).publicKey);
  }
}

/** Prepares, signs and prepares on, until there is a request. */
async function signWith(sdk: CrosscheckProcess, kind: Kind, input: Fields, keys: readonly Key[]): Promise<Signed> {
  const { op, roles } = KINDS[kind];
  const signatures: Record<string, unknown> = {};
  const made = [];
  for (const [at, role] of roles.entries()) {
    const payload = (await sdk.want({ op, input, ...signatures }))[`${role}_payload`];
    const answer = await sdk.want({ op: "sign", seed: keys[at]?.seed, payload });
    signatures[`${role}_signature`] = answer["signature"];
    made.push({ publicKey: answer["public_key"], payload, signature: answer["signature"] });
  }
  const { request } = await sdk.want({ op, input, ...signatures });
  return { request: request as Fields, signatures, made };
}

/** A signature line with its last bit turned. */
function flipped(line: string): string {
  const at = line.lastIndexOf(" ") + 1;
  const signature = Buffer.from(line.slice(at), "base64");
  signature[signature.length - 1] = (signature.at(-1) ?? 0) ^ 1;
  return line.slice(0, at) + signature.toString("base64");
}

const hash = (): string => randomBytes(32).toString("hex");

interface Answer {
  readonly status: number;
  readonly body: {
    readonly anchor: { readonly anchor_id: string; readonly origin_fingerprint: string };
    readonly receipt: unknown;
    readonly chain: readonly { readonly document: string }[];
    readonly authorised_at_action: unknown;
    readonly authorised_now: unknown;
  };
}

describe("the SDKs among each other", () => {
  let running: readonly CrosscheckProcess[] = [];
  let setup: TestCluster;
  let origin: string;
  let trust: { readonly trust_roots: readonly string[]; readonly pinned_root_thk: string };

  const call = async (path: string, body?: Fields): Promise<Answer> => {
    const response = await fetch(`${setup.cluster.file.nodes[0]?.api_url}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${setup.apiKey}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Answer["body"] };
  };

  /** A busy node says so: it is asked again, and the same content is the same record. */
  const post = (path: string, body: Fields): Promise<Answer> =>
    until(`${path} is answered`, async () => {
      const answer = await call(path, body);
      return answer.status === 503 ? null : answer;
    });

  beforeAll(async () => {
    running = sdks.map((command) => new CrosscheckProcess(command));
    setup = await sharedCluster();
    const { nodes, trust_root: root } = setup.cluster.file;
    origin = nodes[0]?.origin_fingerprint ?? "";
    const { chain } = (await call("/v1/trust-root")).body;
    trust = { trust_roots: chain.map(({ document }) => document), pinned_root_thk: root.root_thk };
  }, 300_000);

  afterAll(async () => {
    running.forEach((sdk) => sdk.end());
  }, 240_000);

  /** Signed by one, verified by all. */
  const signAndVerify = async (sdk: CrosscheckProcess, kind: Kind, input: Fields, keys: readonly Key[]) => {
    const { request, signatures, made } = await signWith(sdk, kind, input, keys);
    const { op, alters } = KINDS[kind];
    const lie = alters === "reason" ? { reason: "cessation" } : { [alters]: hash() };
    for (const other of running) {
      for (const { publicKey, payload, signature } of made) {
        const question = { op: "verify_signature", public_key: publicKey, payload, signature };
        expect(await other.want(question)).toEqual({ valid: true });
        const altered = `${String(payload).slice(0, -2)}${String(payload).endsWith("00") ? "01" : "00"}`;
        expect(await other.want({ ...question, payload: altered })).toEqual({ valid: false });
      }
      expect((await signWith(other, kind, input, keys)).request).toEqual(request);
      // Signatures over something else, or by the wrong party, make no request.
      const swapped = Object.fromEntries(
        Object.keys(signatures).map((name, at) => [name, made.at(-1 - at)?.signature]),
      );
      const stranger = { ...signatures, [Object.keys(signatures)[0] ?? ""]: "11".repeat(64) };
      const tampered = [
        { ...signatures, input: { ...input, ...lie } },
        { ...stranger, input },
      ];
      if (made.length > 1) tampered.push({ ...swapped, input });
      for (const question of tampered) expect((await other.ask({ op, ...question })).error).toBeDefined();
    }
    return { request, lie, payload: made[0]?.payload };
  };

  /** What was altered after it was signed is refused by the service; then what was signed is taken. */
  const postSigned = async (path: string, { request, lie }: { request: Fields; lie: Fields }) => {
    const refused = (await post(path, { ...request, ...lie })) as unknown as { status: number; body: Fields };
    expect({ status: refused.status, code: refused.body["code"] }).toEqual({ status: 422, code: "signature_invalid" });
    const taken = await post(path, request);
    expect(taken.status).toBe(201);
    return taken.body;
  };

  /** Receipts that were altered on the way. */
  const alteredReceipts = (receipt: Fields): readonly Fields[] => {
    const leaf = Buffer.from(String(receipt["leaf"]), "base64");
    leaf[leaf.length - 1] = (leaf.at(-1) ?? 0) ^ 1;
    const checkpoint = String(receipt["checkpoint"]);
    const size = Number(checkpoint.split("\n")[1]);
    const lines = checkpoint.trimEnd().split("\n");
    return [
      { leaf: leaf.toString("base64") },
      { anchor_id: hash() },
      { index: Number(receipt["index"]) + 1 },
      { inclusion: (receipt["inclusion"] as string[]).slice(1) },
      { inclusion: [...(receipt["inclusion"] as string[]), Buffer.from(hash(), "hex").toString("base64")] },
      { checkpoint: checkpoint.replace(`\n${size}\n`, `\n${size + 1}\n`), tree_size: size + 1 },
      { checkpoint: `${lines.slice(0, -1).join("\n")}\n` },
      { checkpoint: `${[...lines.slice(0, -1), flipped(lines.at(-1) ?? "")].join("\n")}\n` },
    ].map((change) => ({ ...receipt, ...change }));
  };

  /** All refuse what was altered, at the same step. Of a quorum that is larger than needed a line less is no matter. */
  const judgeAltered = async (receipt: Fields): Promise<void> => {
    for (const altered of alteredReceipts(receipt)) {
      const question = { op: "verify_receipt", receipt: altered, ...trust };
      const [first, ...others] = await Promise.all(running.map((sdk) => sdk.ask(question)));
      for (const other of others) expect(other).toEqual(first);
      const isLineLess =
        String(altered["checkpoint"]).split("\n").length < String(receipt["checkpoint"]).split("\n").length;
      if (!isLineLess) expect(first?.ok?.["verdict"] ?? first?.error?.code).not.toBe("valid");
    }
  };

  /** All judge the receipt alike, as it is and for another content. */
  const judgeReceipt = async (receipt: unknown, expected: Fields): Promise<void> => {
    await judgeAltered(receipt as Fields);
    for (const sdk of running) {
      const question = { op: "verify_receipt", receipt, ...trust };
      const valid = { verdict: "valid", step: null, code: null, superseded_trust_root: null, origin_lost: false };
      const unwitnessed = { witnesses: [], witnessed: false };
      expect(await sdk.want({ ...question, expect: expected })).toEqual({ ...valid, ...unwitnessed });
      const refused = await sdk.want({ ...question, expect: { event_hash: hash() } });
      expect(refused).toMatchObject({ verdict: "invalid", step: "content", code: "content_differs" });
    }
  };

  const withdraw = async (
    sdk: (typeof running)[number],
    kind: "claim" | "grant",
    { anchor }: Answer["body"],
    reason: string,
    revoker: Key,
  ): Promise<void> => {
    const input = {
      target_origin_fingerprint: anchor.origin_fingerprint,
      target_anchor_id: anchor.anchor_id,
      reason,
      ...(reason === "key_compromise" && { suspect_since: 1_767_225_600_000 }),
      revoker_public_key: revoker.publicKey,
    };
    const signed = await signAndVerify(sdk, "revocation", input, [revoker]);
    const { receipt } = await postSigned(`/v1/${kind}-anchors/${anchor.anchor_id}/revoke`, signed);
    await judgeReceipt(receipt, { payload: signed.payload });
  };

  test.each(sdks.map(({ language }, at) => ({ language, at })))(
    "$language prepares and signs: the others verify, the service accepts",
    async ({ at }) => {
      const sdk = running[at];
      if (sdk === undefined) throw new RangeError("every SDK was started");
      const [deployer, agent, issuer] = [new Key(), new Key(), new Key()];
      const claimOf = async (subject: Key): Promise<Answer["body"]> => {
        const input = {
          origin_fingerprint: origin,
          entity_fingerprint: hash(),
          attribute_type: "0x1001",
          attribute_hash: hash(),
          subject_public_key: subject.publicKey,
          issuer_public_key: issuer.publicKey,
          issued_at: 1_767_225_600_000,
        };
        const signed = await signAndVerify(sdk, "claim", input, [subject, issuer]);
        const body = await postSigned("/v1/claim-anchors", signed);
        await judgeReceipt(body.receipt, { payload: signed.payload, anchor_id: body.anchor.anchor_id });
        return body;
      };
      const [grantor, grantee] = [await claimOf(deployer), await claimOf(agent)];

      const grantInput = {
        origin_fingerprint: origin,
        grantor_claim_ref: grantor.anchor.anchor_id,
        grantee_claim_ref: grantee.anchor.anchor_id,
        scope_hash: hash(),
        delegation_depth: 2,
        grantor_public_key: deployer.publicKey,
        witness_public_key: issuer.publicKey,
      };
      const granted = await signAndVerify(sdk, "grant", grantInput, [deployer, issuer]);
      const grant = await postSigned("/v1/grant-anchors", granted);
      await judgeReceipt(grant.receipt, { payload: granted.payload });

      const eventHash = hash();
      const eventInput = {
        origin_fingerprint: origin,
        event_hash: eventHash,
        semantic_anchor: { iris_ref: grantee.anchor.anchor_id, grant_ref: grant.anchor.anchor_id, bond_ref: "" },
        client_event_id: `cross ${sdk.language} ${eventHash.slice(0, 8)}`,
        actor_public_key: agent.publicKey,
      };
      const acted = await signAndVerify(sdk, "event", eventInput, [agent]);
      const event = await postSigned("/v1/event-anchors", acted);
      await judgeReceipt(event.receipt, { payload: acted.payload, event_hash: eventHash });

      // An event that nobody signs, prepared by all alike.
      const { actor_public_key: _, ...unsigned } = { ...eventInput, client_event_id: `cross ${hash().slice(0, 8)}` };
      const requests = await Promise.all(
        running.map(async (each) => (await each.want({ op: "prepare_event", input: unsigned }))["request"]),
      );
      for (const request of requests) expect(request).toEqual(requests[0]);
      const plain = await post("/v1/event-anchors", requests[at] as Fields);
      expect(plain.status).toBe(201);
      await judgeReceipt(plain.body.receipt, { event_hash: eventHash });

      await withdraw(sdk, "grant", grant, "privilege_withdrawn", deployer);
      await withdraw(sdk, "claim", grantee, "key_compromise", issuer);
      const trace = await call(`/v1/event-anchors/${event.anchor.anchor_id}/trace`);
      expect(trace.body).toMatchObject({ authorised_at_action: true, authorised_now: false });
    },
    600_000,
  );
});

interface PreparedVectors {
  readonly [family: string]: {
    readonly bad: readonly { readonly name: string; readonly field: string; readonly input: unknown }[];
  };
}

interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly bundle?: unknown;
  readonly expect?: unknown;
  readonly highest_seen?: unknown;
  readonly require_witnessed?: boolean;
  readonly witnessed?: true;
}

function vectors(name: string): unknown {
  return JSON.parse(readFileSync(join(VECTORS, `${name}.json`), "utf8"));
}

describe("the SDKs judge alike", () => {
  let running: readonly CrosscheckProcess[] = [];
  beforeAll(() => {
    running = sdks.map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => running.forEach((sdk) => sdk.end()));

  /** The answers of all, which have to be that of the first. */
  const answers = async (question: object): Promise<unknown[]> =>
    Promise.all(running.map(async (sdk) => ({ sdk: sdk.language, answer: await sdk.ask(question) })));

  const agreed = async (question: object): Promise<unknown> => {
    const [first, ...others] = (await answers(question)) as { sdk: string; answer: unknown }[];
    for (const other of others) expect(other).toEqual({ sdk: other.sdk, answer: first?.answer });
    return first?.answer;
  };

  test.each([
    ["claims", "prepare_claim"],
    ["grants", "prepare_grant"],
    ["events", "prepare_event"],
    ["revocations", "prepare_revocation"],
  ])(
    "bad inputs of %s: the same refusal",
    async (family, op) => {
      const { bad } = (vectors("prepare") as PreparedVectors)[family] ?? { bad: [] };
      expect(bad.length).toBeGreaterThan(40);
      for (const { input, field } of bad) {
        expect(await agreed({ op, input })).toEqual({ error: { code: "invalid_input", field } });
      }
    },
    60_000,
  );

  test("good and bad receipts", async () => {
    const {
      good,
      bad,
      trust_roots: documents,
      pinned_root_thk: pin,
    } = vectors("receipt") as {
      readonly good: readonly Fields[];
      readonly bad: readonly Fields[];
      readonly trust_roots: readonly string[];
      readonly pinned_root_thk: string;
    };
    // A renewal is no part of the question.
    for (const vector of [...good, ...bad].filter((each) => each["renewal"] === undefined)) {
      const held = documents.slice(0, Number(vector["trust_root_versions"]));
      const question = { receipt: vector["receipt"], expect: vector["expect"], trust_roots: held };
      const answer = await agreed({ op: "verify_receipt", ...question, pinned_root_thk: pin });
      const failure = vector["failure"] as { step: string; code: string } | null;
      const expected = { verdict: vector["verdict"], step: failure?.step ?? null, code: failure?.code ?? null };
      expect(answer).toMatchObject({ ok: expected });
    }
  }, 240_000);

  test("good bundles", async () => {
    const { good } = vectors("bundle") as { readonly good: readonly (BundleCase & Fields)[] };
    for (const vector of good.filter(({ bundle }) => bundle !== undefined)) {
      const { bundle, pinned_root_thk, expect: known, highest_seen, require_witnessed } = vector;
      const judged = { pinned_root_thk, expect: known, highest_seen, require_witnessed };
      const answer = await agreed({ op: "verify_bundle", bundle, ...judged });
      const { witnessed = false } = vector;
      expect(answer).toMatchObject({ ok: { outcome: vector["outcome"], witnessed } });
    }
  }, 240_000);

  test("bad bundles", async () => {
    const { bad, bundles } = vectors("bundle") as {
      readonly bad: readonly (BundleCase & Fields)[];
      readonly bundles: Readonly<Record<string, unknown>>;
    };
    for (const vector of bad) {
      const { pinned_root_thk, expect: known, highest_seen, require_witnessed, of, changes } = vector;
      const bundle = vector.bundle ?? changed(bundles[String(of)], changes as { at: string; to?: unknown }[]);
      const judged = { pinned_root_thk, expect: known, highest_seen, require_witnessed };
      const answer = await agreed({ op: "verify_bundle", bundle, ...judged });
      expect(answer).toMatchObject({ ok: { outcome: "invalid", fails: vector["fails"] } });
    }
  }, 240_000);
});
