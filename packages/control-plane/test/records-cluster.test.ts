/** Claims, grants, revocations and signed events through three nodes, each of which verifies for itself. */
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Command, LIMITS, encodeGroup, waitingGroupOf } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { partyOf } from "@event-anchoring/testkit/records";
import type { QuietCluster, QuietMachine } from "@event-anchoring/simulator";
import { certifiedSizes, clusterOf, decided, made, readyCluster, recorded } from "./cluster-steps.ts";
import { ceremonyOf } from "./ceremony.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";
import {
  claimOf,
  forged,
  grantOf,
  recordClaim,
  recordEvents,
  recordGrant,
  recordRevocation,
  revocationOf,
  signedEventOf,
} from "./signed-records.ts";

let cluster: QuietCluster;
let a: QuietMachine;
let b: QuietMachine;
let c: QuietMachine;
let origin: OriginFingerprint;

beforeEach(async () => {
  cluster = await readyCluster();
  [a, b, c] = cluster.nodes as [QuietMachine, QuietMachine, QuietMachine];
  origin = a.identity.originFingerprint;
});

function claim(subject: string): Command {
  return recordClaim(CREDENTIAL, claimOf(origin, subject));
}

function leaves({ decisions }: QuietMachine): string[] {
  return decisions.flatMap(({ writes }) => writes.leaves.map(({ anchorId }) => bytesToHex(anchorId)));
}

/** Effects and leaves are the same everywhere, and certified. */
function expectAgreement(): void {
  const effects = cluster.nodes.map((node) => bytesToHex(node.live().state.effect));
  expect(new Set(effects).size).toBe(1);
  expect(leaves(b)).toEqual(leaves(a));
  expect(leaves(c)).toEqual(leaves(a));
  const sizes = [...a.live().state.origins.values()].map(({ tree }) => tree.size);
  expect(certifiedSizes(cluster)).toEqual([sizes, sizes, sizes]);
}

function inThread(node: QuietMachine): number {
  return node.running().signatures.counts.thread.count;
}

describe("records through three nodes", () => {
  test("are decided alike by all, and certified", async () => {
    const deployer = await recorded(cluster, a, claim("deployer"));
    const agent = await recorded(cluster, b, claim("agent"));
    const plan = { originFingerprint: origin, grantor: "deployer", delegationDepth: 1 };
    const parties = { grantorClaim: deployer.anchorId, granteeClaim: agent.anchorId };
    const grant = await recorded(cluster, c, recordGrant(CREDENTIAL, grantOf({ ...plan, ...parties })));
    const references = { irisRef: agent.anchorId, grantRef: grant.anchorId };
    const act = await recorded(cluster, b, recordEvents(CREDENTIAL, signedEventOf(origin, "agent", references)));
    const target = { anchorId: grant.anchorId, kind: "grant", originFingerprint: origin } as const;
    const revoked = await recorded(cluster, a, recordRevocation(CREDENTIAL, revocationOf(target, "notary")));
    expect([deployer, agent, grant, act, revoked].map(({ kind }) => kind)).toEqual([
      LEAF_KIND.claim,
      LEAF_KIND.claim,
      LEAF_KIND.grant,
      LEAF_KIND.signedEvent,
      LEAF_KIND.revocation,
    ]);
    expectAgreement();
    const nothing = { clientEvents: [], anchors: [], contents: [], claimPairs: [], grantParties: [] };
    const query = { ...nothing, records: [grant.anchorId] };
    for (const { database } of cluster.nodes) {
      const { records } = database.tables.facts(query);
      expect(records.grant(grant.sequence)?.revokedAt).toBe(revoked.sequence);
    }
  });

  test("answer a repetition with the first, through another node", async () => {
    const first = await recorded(cluster, a, claim("deployer"));
    const again = await decided(cluster, c, claim("deployer"));
    expect(again).toMatchObject({ records: [{ status: "replayed", sequence: first.sequence }] });
    expectAgreement();
  });

  test("are counted by kind, refusals by code", async () => {
    await recorded(cluster, a, claim("deployer"));
    await decided(cluster, b, claim("deployer"));
    const bad = { ...claimOf(origin, "agent"), issuerSignature: new Uint8Array(64) };
    await decided(cluster, c, recordClaim(CREDENTIAL, bad));
    await decided(cluster, c, recordClaim({ ...CREDENTIAL, keyId: new Uint8Array(16) }, claimOf(origin, "other")));
    for (const node of cluster.nodes) {
      const { counts } = node.running();
      expect(Object.fromEntries(counts.records)).toEqual({ genesis: 3, claim: 1 });
      expect(counts.replays).toBe(1);
      expect(Object.fromEntries(counts.rejections)).toEqual({ signature_invalid: 1, api_key_invalid: 1 });
    }
  });

  test("of one ceremony live one life: the same frames in the same order, each time", async () => {
    const ceremony = ceremonyOf(["a", "b", "c"]);
    const lives: string[] = [];
    for (let life = 0; life < 2; life++) {
      const again = await made(await clusterOf(ceremony));
      const at = (again.nodes[1] as QuietMachine).identity.originFingerprint;
      for (const [position, node] of again.nodes.entries()) {
        await decided(again, node, recordClaim(CREDENTIAL, claimOf(at, `subject ${position}`)));
      }
      const bytes = (value: unknown): unknown => (value instanceof Uint8Array ? bytesToHex(value) : value);
      lives.push(
        JSON.stringify(again.sent, (_key, value: unknown) => (typeof value === "bigint" ? `${value}` : bytes(value))),
      );
    }
    expect(lives[1]).toBe(lives[0]);
  });
});

describe("nested signatures", () => {
  test("are verified by every node itself, off the event loop, each once", async () => {
    const before = cluster.nodes.map(inThread);
    await recorded(cluster, b, claim("deployer"));
    expect(cluster.nodes.map(inThread)).toEqual(before.map((count) => count + 2));
  });

  const forgeries: readonly [string, () => Command, string][] = [
    [
      "the subject's",
      () => {
        const good = claimOf(origin, "deployer");
        return recordClaim(CREDENTIAL, { ...good, subjectSignature: forged(good.subjectSignature) });
      },
      "/subject_signature",
    ],
    [
      "the issuer's",
      () => {
        const good = claimOf(origin, "deployer");
        return recordClaim(CREDENTIAL, { ...good, issuerSignature: forged(good.issuerSignature) });
      },
      "/issuer_signature",
    ],
    [
      "the issuer's and the subject's, exchanged",
      () => {
        const good = claimOf(origin, "deployer");
        const { subjectSignature: issuerSignature, issuerSignature: subjectSignature } = good;
        return recordClaim(CREDENTIAL, { ...good, subjectSignature, issuerSignature });
      },
      "/subject_signature",
    ],
    [
      "the subject's, made for another origin",
      () =>
        recordClaim(CREDENTIAL, { ...claimOf(origin, "deployer"), originFingerprint: b.identity.originFingerprint }),
      "/subject_signature",
    ],
    [
      "the issuer's, of all zeros",
      () => recordClaim(CREDENTIAL, { ...claimOf(origin, "deployer"), issuerSignature: new Uint8Array(64) }),
      "/issuer_signature",
    ],
    [
      "the actor's",
      () => {
        const good = signedEventOf(origin, "agent");
        const signature = forged(good.actor?.signature ?? new Uint8Array(64));
        return recordEvents(CREDENTIAL, { ...good, actor: { publicKey: partyOf("agent").publicKey, signature } });
      },
      "/actor_signature",
    ],
    [
      "the actor's, by another key",
      () => {
        const good = signedEventOf(origin, "agent");
        const signature = good.actor?.signature ?? new Uint8Array(64);
        return recordEvents(CREDENTIAL, { ...good, actor: { publicKey: partyOf("other").publicKey, signature } });
      },
      "/actor_signature",
    ],
  ];

  test.each(forgeries)(
    "%s: not good, put into the log past all, append nothing anywhere",
    async (_whose, command, pointer) => {
      const leader = cluster.leader() as QuietMachine;
      const before = leaves(a);
      const content = { id: { node: 77n, incarnation: 1, counter: 1 }, notAfter: 50_000, commands: [command()] };
      const bytes = encodeGroup(content);
      const group = { ...waitingGroupOf(content, bytes.length), id: content.id, bytes, from: null };
      leader.live().writes.queue.offer([{ ...group, deadlineMs: Number.MAX_SAFE_INTEGER }]);
      await cluster.time.advance(500);
      for (const { decisions } of cluster.nodes) {
        expect(decisions.flatMap(({ outcomes }) => outcomes).at(-1)).toMatchObject({
          status: "decided",
          commands: [
            {
              kind: "records",
              records: [{ status: "rejected", rejection: { code: "signature_invalid", pointer } }],
            },
          ],
        });
      }
      expect(leaves(a)).toEqual(before);
      expectAgreement();
    },
  );

  test("that one node believes against its own eyes leave it alone: the others certify, it halts", async () => {
    const liar = cluster.leader() as QuietMachine;
    const honest = cluster.nodes.filter((node) => node !== liar);
    cluster.watches = false;
    liar.verify = async (job) => job.map(() => true);
    const good = claimOf(origin, "deployer");
    const bad = recordClaim(CREDENTIAL, { ...good, issuerSignature: forged(good.issuerSignature) });
    expect(await decided(cluster, honest[0] as QuietMachine, bad)).toMatchObject({
      records: [{ status: "rejected", rejection: { code: "signature_invalid" } }],
    });
    const [left, right] = honest as [QuietMachine, QuietMachine];
    // The next leaf is cosigned, and with each cosignature goes what was decided up to there. One root differs: all
    // exchange what they have signed, and then the others certify theirs.
    await recorded(cluster, right, claim("agent"), 3000);
    await cluster.until(() => liar.stopped !== null, "the node that differs has halted");
    expect(liar.stopped).toMatchObject({ reason: "halted", code: "diverged" });
    await cluster.until(() => cluster.leader() !== null, "another leader");
    await recorded(cluster, left, claim("other"));
    expect(left.live().state.effect).toEqual(right.live().state.effect);
    expect(leaves(left)).toEqual(leaves(right));
  });

  test("whose verdict the thread does not give are computed on the spot", async () => {
    const given = cluster.nodes.map(inThread);
    for (const node of cluster.nodes) {
      node.verify = async () => {
        throw new Error("no thread");
      };
    }
    await recorded(cluster, b, claim("deployer"));
    const good = claimOf(origin, "agent");
    const bad = recordClaim(CREDENTIAL, { ...good, subjectSignature: forged(good.subjectSignature) });
    expect(await decided(cluster, c, bad)).toMatchObject({ records: [{ status: "rejected" }] });
    for (const node of cluster.nodes) {
      expect(node.running().signatures.counts.failed).toBeGreaterThanOrEqual(4);
    }
    expect(cluster.nodes.map(inThread)).toEqual(given);
    expectAgreement();
  });

  test("that are slow to verify hold up the entry that needs them, and no heartbeat", async () => {
    const leader = cluster.leader() as QuietMachine;
    const slow = cluster.nodes.find((node) => node !== leader) as QuietMachine;
    const held: (() => void)[] = [];
    slow.verify = async (job) => {
      await new Promise<void>((resume) => held.push(resume));
      return job.map((signed) => nodeCrypto.ed25519Verify(signed.publicKey, signed.message, signed.signature));
    };
    const applied = slow.live().state.appliedIndex;
    await recorded(cluster, leader, claim("deployer"));
    await cluster.time.advance(5000);
    expect(slow.live().state.appliedIndex).toBe(applied);
    expect(slow.live().leaderNodeId()).toBe(leader.nodeId);
    expect(held).toHaveLength(1);
    for (const resume of held) resume();
    await cluster.until(() => slow.live().state.appliedIndex > applied, "the entry is applied");
    expectAgreement();
  });

  test("of events that nobody signed are none: nothing is verified", async () => {
    const before = cluster.nodes.map(inThread);
    await recorded(cluster, a, eventCommand(origin, 1));
    expect(cluster.nodes.map(inThread)).toEqual(before);
  });
});

describe("many signed commands", () => {
  test("come 256 to an entry at most, and all are decided", async () => {
    const leader = cluster.leader() as QuietMachine;
    const results = Array.from({ length: 600 }, (_, position) =>
      cluster.submit(leader, claim(`subject ${position}`), 20_000),
    );
    await cluster.time.advance(3000);
    for (const result of await Promise.all(results)) {
      expect(result).toMatchObject({ kind: "decided", outcome: { records: [{ status: "accepted" }] } });
    }
    const perEntry = leader.decisions.map(({ writes }) => writes.claims.length).filter((count) => count > 0);
    expect(Math.max(...perEntry)).toBeLessThanOrEqual(LIMITS.entrySignedCommandsMax);
    expect(perEntry.reduce((sum, count) => sum + count, 0)).toBe(600);
    expectAgreement();
  });

  test("in one batch are bounded too: 257 signed events fit no entry", async () => {
    const events = Array.from({ length: LIMITS.entrySignedCommandsMax + 1 }, (_, position) =>
      signedEventOf(origin, `actor ${position % 3}`),
    );
    const result = cluster.submit(a, recordEvents(CREDENTIAL, ...events));
    await cluster.time.advance(200);
    expect(await result).toMatchObject({ kind: "refused", code: "too_large" });
  });
});
