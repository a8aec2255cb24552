import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  Client,
  LocalKey,
  MemoryMonitorStore,
  Monitor,
  NotFound,
  Receipt,
  Unauthorized,
  Unprocessable,
  inspectBundle,
  sha256,
  verifyBundle,
  verifyCheckpoint,
  verifyConsistency,
  verifyReceipt,
  verifyTrustRoot,
} from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { anchorIdOf, bytesToHex } from "@event-anchoring/protocol";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";

// The TypeScript SDK against a real cluster, and its examples as a reader would run them.

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "packages", "sdk-typescript");
const run = promisify(execFile);

/** An address where nobody listens. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

describe("the TypeScript SDK on a cluster", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-typescript-"));
  let setup: TestCluster;
  let endpoints: readonly string[];
  let rootThk: string;
  let trustRoot: TrustRootChain;
  let client: Client;

  beforeAll(async () => {
    setup = await sharedCluster();
    endpoints = setup.cluster.file.nodes.map((node) => node.api_url);
    rootThk = setup.cluster.file.trust_root.root_thk;
    const { chain } = await new Client({ endpoints }).trustRoot();
    trustRoot = verifyTrustRoot({ documents: chain, pinnedRootThk: rootThk });
    client = new Client({ endpoints, apiKey: setup.apiKey, trustRoot });
  }, 300_000);

  afterAll(async () => {
    rmSync(folder, { recursive: true });
  }, 240_000);

  const claimOf = (subject: LocalKey, issuer: LocalKey, entity: Uint8Array) =>
    client.createClaimAnchor({
      entityFingerprint: entity,
      attributeType: "0x1001",
      attributeHash: sha256(entity),
      subjectSigner: subject,
      issuerSigner: issuer,
    });

  test("what needs no key", async () => {
    const open = new Client({ endpoints });
    expect((await open.healthz()).originFingerprint).toBe(setup.cluster.file.nodes[0]?.origin_fingerprint);
    expect((await open.readyz()).ready).toBe(true);
    expect((await open.limits()).batchItemsMax).toBe(1000);
    expect((await open.openApi()).document["openapi"]).toMatch(/^3\.1/);
    await expect(open.latest()).rejects.toMatchObject({ code: "invalid_input", field: "apiKey" });
    const stranger = new Client({ endpoints, apiKey: "no-such-key" });
    await expect(stranger.latest()).rejects.toBeInstanceOf(Unauthorized);
  });

  test("an event, its replay, and its receipt, offline and as a file", async () => {
    const eventHash = randomBytes(32);
    const created = await client.createEventAnchor(eventHash);
    const again = await client.createEventAnchor(eventHash, { clientEventId: created.clientEventId });
    expect(again).toMatchObject({ replayed: true, anchor: { anchorId: created.anchor.anchorId } });
    const file = created.receipt?.toProofText() ?? "";
    const verified = verifyReceipt(file, { trustRoot, eventHash, anchorId: created.anchor.anchorId });
    expect(verified.cosigners.length).toBeGreaterThanOrEqual(2);
    expect(() => verifyReceipt(file, { trustRoot, eventHash: randomBytes(32) })).toThrow("content");
    const now = await client.getReceipt(created.anchor.anchorId);
    expect(now.treeSize).toBeGreaterThanOrEqual(Receipt.parse(file).treeSize);
    expect(await client.getAnchor(created.anchor.anchorId)).toMatchObject({ anchor: { kind: "event" } });
    const [listed] = (await client.listEventAnchors({ eventHash })).items;
    expect(listed?.anchorId).toBe(created.anchor.anchorId);
    expect(listed?.clientEventId).toBe(created.clientEventId);
    const shown = await client.verifyEventAnchor(created.anchor.anchorId, { eventHash });
    expect(shown.valid).toBe(true);
  });

  test("a batch, item by item, and the pages of a list", async () => {
    const eventHash = randomBytes(32);
    const unknown = randomBytes(32);
    const events = [{ eventHash }, { eventHash, semanticAnchor: { irisRef: unknown } }, { eventHash }, { eventHash }];
    const batch = await client.createEventAnchors(events);
    expect(batch.summary).toMatchObject({ total: 4, created: 3, refused: 1 });
    expect(batch.results[1]?.problem?.code).toBe("reference_not_found");
    const again = events.map((event, at) => ({ ...event, clientEventId: batch.clientEventIds[at] }));
    const shared = await client.createEventAnchors(again, { sharedReceipts: true });
    expect(shared.results.map(({ receipt }) => receipt?.anchorId)).toEqual(
      batch.results.map(({ receipt }) => receipt?.anchorId),
    );
    await expect(client.createEventAnchors(events, { atomic: true })).rejects.toMatchObject({ code: "batch_refused" });
    const found = [];
    for await (const event of client.iterateEventAnchors({ eventHash })) found.push(event.anchorId);
    expect(found).toEqual(batch.results.flatMap(({ anchor }) => anchor?.anchorId ?? []));
    const judged = await client.verifyEventAnchors([{ anchorId: found[0] ?? "" }, { anchorId: unknown }]);
    expect(judged.summary).toEqual({ total: 2, valid: 1, invalid: 0, notFound: 1 });
  });

  test("a responsibility chain, before and after a revocation", async () => {
    const [deployer, agent, issuer] = [LocalKey.generate(), LocalKey.generate(), LocalKey.generate()];
    const [first, second] = [randomBytes(32), randomBytes(32)];
    const grantor = await claimOf(deployer, issuer, first);
    const grantee = await claimOf(agent, issuer, second);
    expect((await claimOf(agent, issuer, second)).replayed).toBe(true);
    const grant = await client.createGrantAnchor({
      grantorClaimRef: grantor.anchor.anchorId,
      granteeClaimRef: grantee.anchor.anchorId,
      scopeHash: sha256(first),
      delegationDepth: 0,
      grantorSigner: deployer,
      witnessSigner: issuer,
    });
    expect((await client.getGrantAnchor(first, second)).anchor.anchorId).toBe(grant.anchor.anchorId);
    const roots = { trustedRoots: [grantor.anchor.anchorId] };
    expect((await client.verifyGrantAnchor(grant.anchor.anchorId, roots)).valid).toBe(true);
    const event = await client.createEventAnchor(randomBytes(32), {
      semanticAnchor: { irisRef: grantee.anchor.anchorId, grantRef: grant.anchor.anchorId },
      actorSigner: agent,
    });
    const before = await client.trace(event.anchor.anchorId, roots);
    expect(before).toMatchObject({ authorisedAtAction: true, authorisedNow: true, rootAuthority: "pass" });
    const revoked = await client.revokeGrantAnchor(grant.anchor.anchorId, {
      reason: "privilege_withdrawn",
      revokerSigner: deployer,
    });
    expect(revoked).toMatchObject({ revokedAnchorId: grant.anchor.anchorId, anchor: { authority: "grantor" } });
    const after = await client.trace(event.anchor.anchorId);
    expect(after).toMatchObject({ authorisedAtAction: true, authorisedNow: false });
    const { proof } = await client.trace(event.anchor.anchorId, { proof: true });
    expect(verifyBundle(proof ?? "", { pinnedRootThk: rootThk, anchorId: event.anchor.anchorId })).toMatchObject({
      actorProven: true,
      authorisedAtAction: true,
      authorisedNow: false,
    });
    const ended = await client.verifyGrantAnchor(grant.anchor.anchorId, { proof: true });
    expect(inspectBundle(ended.proof ?? "", { trustRoot })).toMatchObject({
      outcome: "valid",
      standing: { state: ended.state, isInForce: false },
    });
    const asOf = before.asOf.sequence ?? 0;
    expect(await client.trace(event.anchor.anchorId, { asOf })).toMatchObject({ authorisedNow: true });
    await expect(client.getGrantAnchor(first, second)).rejects.toMatchObject({ code: "no_active_grant" });
    const operator = await client.revokeClaimAnchor(grantee.anchor.anchorId);
    expect(operator.anchor.authority).toBe("operator");
    expect((await client.verifyClaimAnchor(grantee.anchor.anchorId)).state).toBe("revoked");
    await expect(client.getClaimAnchor(second, 0x1001)).rejects.toBeInstanceOf(NotFound);
    const ends = [];
    for await (const { anchor, ended } of client.iterateGrantAnchors({ grantorFingerprint: first }))
      ends.push([anchor.anchorId, ended?.code, ended?.endedBy]);
    expect(ends).toEqual([[grant.anchor.anchorId, "grant_revoked", revoked.anchor.anchorId]]);
    const [claim] = (await client.listClaimAnchors({ entityFingerprint: second })).items;
    expect(claim?.ended).toMatchObject({ code: "claim_revoked", endedBy: operator.anchor.anchorId });
  });

  test("the ledger's refusals name the place", async () => {
    const [subject, issuer] = [LocalKey.generate(), LocalKey.generate()];
    const claim = await claimOf(subject, issuer, randomBytes(32));
    const call = client.createGrantAnchor({
      grantorClaimRef: claim.anchor.anchorId,
      granteeClaimRef: randomBytes(32),
      scopeHash: randomBytes(32),
      delegationDepth: 0,
      grantorSigner: subject,
      witnessSigner: issuer,
    });
    await expect(call).rejects.toBeInstanceOf(Unprocessable);
    await expect(call).rejects.toMatchObject({ code: "reference_not_found", pointers: ["/grantee_claim_ref"] });
  });

  test("a node that is away is passed over", async () => {
    const away = new Client({ endpoints: [await closedAddress(), ...endpoints], apiKey: setup.apiKey, trustRoot });
    const created = await away.createEventAnchor(randomBytes(32));
    expect(created.anchor.finality).toBe("certified");
  });

  test("a monitor follows the logs, and their checkpoints are consistent", async () => {
    const monitor = new Monitor({ client, store: new MemoryMonitorStore(), pinnedRootThk: rootThk });
    const [before] = await monitor.update();
    await client.createEventAnchor(randomBytes(32));
    const later = (await monitor.update()).find((each) => each.originFingerprint === before?.originFingerprint);
    expect(later?.previousTreeSize).toBe(before?.checkpoint.treeSize);
    const fromSize = 1;
    const origin = await client.originFingerprint();
    const grown = await client.consistency({ fromSize, originFingerprint: origin });
    expect(() => verifyConsistency(grown.from, grown.to, grown.proof)).not.toThrow();
    const latest = await client.latest({ originFingerprint: origin });
    expect(verifyCheckpoint(latest.checkpoint, trustRoot).rootHash).toBe(latest.rootHash);
  });

  test("the log itself, as tiles", async () => {
    const { anchor } = await client.createEventAnchor(randomBytes(32));
    const origin = anchor.originFingerprint;
    const { treeSize } = verifyCheckpoint(await client.getCheckpoint(origin), trustRoot);
    expect(treeSize).toBeGreaterThan(anchor.depth);
    const index = Math.floor(anchor.depth / 256);
    const place = { index, width: Math.min(256, treeSize - index * 256) };
    const leaves = await client.getEntries(origin, place);
    const hashes = await client.getTile(origin, { level: 0, ...place });
    expect(leaves.map((leaf) => bytesToHex(anchorIdOf(leaf, sha256)))).toEqual(hashes.map((each) => bytesToHex(each)));
    expect(bytesToHex(hashes[anchor.depth % 256] ?? new Uint8Array())).toBe(anchor.anchorId);
  });

  describe("examples", () => {
    const example = async (name: string, ...args: string[]): Promise<string> => {
      const { stdout } = await run(process.execPath, [join(PACKAGE, "examples", name), ...args], {
        env: {
          ...process.env,
          ANCHORING_ENDPOINT: endpoints[0],
          ANCHORING_API_KEY: setup.apiKey,
          ANCHORING_ROOT_THK: rootThk,
        },
      });
      return stdout;
    };

    test("first-anchor.js", async () => {
      const path = join(folder, "event.txt");
      writeFileSync(path, "an event");
      expect(await example("first-anchor.js", path)).toMatch(/^[0-9a-f]{64} is cosigned by .+, .+\n$/);
    });

    test("recommended-flow.js", async () => {
      expect((await example("recommended-flow.js")).split("\n")).toEqual([
        // On a machine with other work it may be behind for a moment.
        expect.stringMatching(/^the node is (?:ok|degraded)$/),
        expect.stringMatching(/^the agent's claim is active, certified at depth \d+$/),
        "the grant is valid",
        "authorised when it was done: true",
        expect.stringMatching(/^leaf of a tree of \d+, cosigned by [23] nodes$/),
        "after the revocation, at action true, now false",
        "",
      ]);
    });
  });
});
