/** What a running process answers to requests for proofs, judged offline. */
import { expect, test } from "@jest/globals";
import { parseBundle, verifyBundle } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { until } from "@event-anchoring/testkit";
import type { Answer } from "./api-harness.ts";
import type { FakeControl } from "./fake-control.ts";
import type { FakeNode } from "./fake-node.ts";
import { anchorOf, claimed, granted, hex, signedEvent } from "./records.ts";

export interface RunningNode {
  readonly node: FakeNode;
  /** Its control plane, once it is there. */
  readonly control: () => FakeControl;
  readonly send: (method: string, path: string, body?: unknown) => Promise<Answer>;
}

/** 64 hex digits each. */
interface Chain {
  readonly claims: readonly { readonly anchor_id: string }[];
  readonly grant: string;
  readonly act: string;
}

/** A client of the process that judges each proof as any client does. */
class ProvingClient {
  readonly send: RunningNode["send"];
  readonly origin: string;
  readonly #pin: Uint8Array;

  constructor({ node, send }: RunningNode) {
    this.send = send;
    this.origin = bytesToHex(node.origin);
    this.#pin = node.cluster.trustRoot.rootThk;
  }

  /** A machine that is too busy to make a proof in time makes it later. */
  served(method: string, path: string, body?: unknown): Promise<Answer> {
    return until(`${path} is served`, async () => {
      const answer = await this.send(method, path, body);
      return answer.status === 503 ? null : answer;
    });
  }

  /** The answer, with its proof judged. */
  async proved(method: string, path: string, body?: unknown) {
    const { status, text } = await this.served(method, path, body);
    if (status !== 200) throw new Error(text);
    const json = JSON.parse(text) as { as_of: { sequence: number; time_ms: number }; proof: unknown };
    const bundle = parseBundle(JSON.stringify(json.proof));
    const verification = verifyBundle({ bundle, trust: { pinnedRootThk: this.#pin } }, nodeCrypto);
    const { asOf, outcome } = verification;
    const isOfAnswer = asOf.sequence === json.as_of.sequence && asOf.timeMs === json.as_of.time_ms;
    if (outcome !== "valid" || !isOfAnswer) throw new Error(`${outcome}: ${JSON.stringify(verification.checks)}`);
    return { json, verification };
  }

  /** Two grants between three parties, and an act under the second. */
  async chain(name: string): Promise<Chain> {
    const names = ["root", "deployer", "agent"].map((role) => `${role} of ${name}`);
    const claims = [];
    for (const each of names) claims.push(await claimed(this, each));
    let parent: string | undefined;
    for (const at of [0, 1]) {
      const parties = { grantorClaim: idAt(claims, at), granteeClaim: idAt(claims, at + 1), grantor: names[at] ?? "" };
      const under = parent === undefined ? {} : { parent };
      parent = (await granted(this, { ...parties, ...under, depth: 5 - at })).anchor_id;
    }
    const semanticAnchor = { irisRef: hexToBytes(idAt(claims, 2)), grantRef: hexToBytes(parent ?? "") };
    const act = await anchorOf(
      this.send("POST", "/v1/event-anchors", signedEvent(this, names[2] ?? "", { semanticAnchor })),
    );
    return { claims, grant: parent ?? "", act: act.anchor_id };
  }
}

function idAt(claims: Chain["claims"], at: number): string {
  return claims[at]?.anchor_id ?? "";
}

/** Tests, to be called where tests are described. */
export function testProofs(running: RunningNode): void {
  const client = new ProvingClient(running);
  test("a trace proves its verdicts, before and after a revocation, and as of an earlier position", async () => {
    const { claims, act } = await client.chain("trace");
    const path = `/v1/event-anchors/${act}/trace?proof=true`;
    const before = await client.proved("GET", path);
    const yes = { actorProven: true, authorisedAtAction: true, authorisedNow: true };
    expect(before.verification).toMatchObject(yes);
    await client.send("POST", `/v1/claim-anchors/${idAt(claims, 1)}/revoke`, {});
    const after = await client.proved("GET", path);
    expect(after.verification).toMatchObject({ ...yes, authorisedNow: false });
    expect(after.json).toMatchObject({ authorised_at_action: true, authorised_now: false });
    const { sequence } = before.json.as_of;
    const earlier = await client.proved("GET", `${path}&as_of=${sequence}`);
    expect(earlier.verification).toMatchObject({ ...yes, asOf: { sequence } });
    const future = await client.served("GET", `${path}&as_of=${sequence + 1000}`);
    expect([future.status, future.json.code]).toEqual([400, "as_of_future"]);
  });

  test("verification of claims, grants and events proves whether they are in force", async () => {
    const { claims, grant, act } = await client.chain("verify");
    const verify = (kind: string, anchor_id: string) =>
      client.proved("POST", `/v1/${kind}-anchors:verify?proof=true`, { anchor_id });
    for (const [kind, id] of [
      ["claim", idAt(claims, 2)],
      ["grant", grant],
    ] as const) {
      const found = await verify(kind, id);
      expect(found.json).toMatchObject({ valid: true, state: "active" });
      expect(found.verification.standing).toMatchObject({ state: "active", isInForce: true });
    }
    expect((await verify("event", act)).verification).toMatchObject({ authorisedNow: true, standing: null });
    await client.send("POST", `/v1/claim-anchors/${idAt(claims, 0)}/revoke`, {});
    const ended = await verify("grant", grant);
    expect(ended.json).toMatchObject({ valid: false, state: "revoked" });
    expect(ended.verification.standing).toMatchObject({ state: "revoked", isInForce: false });
  });
}

/** The same, of what bounds them. */
export function testBoundsOfProofs(running: RunningNode): void {
  const client = new ProvingClient(running);
  const { control } = running;

  test("twenty traces at once share two holds, and leave none behind", async () => {
    const { act } = await client.chain("count");
    const [before, beganMs] = [control().holds, performance.now()];
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.send("GET", `/v1/event-anchors/${act}/trace?proof=true`)),
    );
    // For those that a busy machine sends later there is one hold in two seconds.
    const holdsMax = 2 + Math.floor((performance.now() - beganMs) / 2000);
    expect(control().holds - before).toBeLessThanOrEqual(holdsMax);
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(0);
    await until("the state is let go", async () => control().held === 0);
  });

  test("what no quorum signs is 503 with Retry-After, and the verdict alone is answered as ever", async () => {
    const { act } = await client.chain("unsigned");
    control().isSigning = false;
    try {
      const refused = await client.send("GET", `/v1/event-anchors/${act}/trace?proof=true`);
      expect([refused.status, refused.json.code]).toEqual([503, "state_not_signed"]);
      expect(refused.headers["retry-after"]).toBe("5");
      expect((await client.send("GET", `/v1/event-anchors/${act}/trace`)).status).toBe(200);
    } finally {
      control().isSigning = true;
    }
  });

  test("what is wrong with a request is said before anything is signed for it", async () => {
    const before = control().holds;
    const path = `/v1/event-anchors/${hex(1)}/trace?proof=`;
    expect((await client.send("GET", `${path}yes`)).json).toMatchObject({ code: "invalid_request" });
    const paged = await client.send("GET", `${path}true&delegation_cursor=100.5.1780000000000`);
    expect(paged.json).toMatchObject({ code: "invalid_request", errors: [{ parameter: "proof" }] });
    const verify = await client.send("POST", "/v1/claim-anchors:verify?proof=true", { anchor: "x" });
    expect(verify.json).toMatchObject({ code: "invalid_request" });
    expect((await client.send("POST", "/v1/claim-anchors:verify?prove=true", {})).status).toBe(400);
    expect(control().holds).toBe(before);
  });
}
