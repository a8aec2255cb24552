import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  VKEY_TYPE,
  bytesToHex,
  formatVkey,
  makeVkey,
  parseVkey,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { TrustRootChain, TrustRootWitness, Vkey } from "@event-anchoring/protocol";
import {
  type Ceremony,
  type NodeCard,
  type TrustRootChange,
  type TrustRootProposal,
  composeTrustRoot,
  countSignatures,
  createOperatorKey,
  createRootKey,
  discardRotation,
  formatNodeCard,
  formatProposal,
  holdCeremony,
  judgeProposal,
  mergeProposals,
  parseNodeCard,
  parseProposal,
  prepareNode,
  prepareRotation,
  readSealedKey,
  readTrustRoots,
  settleNode,
  signProposal,
  writeTrustRoots,
} from "../src/index.ts";

const ISSUED_S = 1_790_000_000;
/** Each guess at a passphrase is meant to be slow; on a busy machine it is slower. */
const SCRYPT_TIMEOUT_MS = 120_000;
const LATER_S = ISSUED_S + 86_400;
let ceremony: Ceremony;
let chain: TrustRootChain;
let folder: string;
let identityDir: string;

beforeAll(() => {
  ceremony = holdCeremony({
    clusterName: "change.test",
    nodeIds: ["a", "b", "c"],
    quorum: 2,
    rootKeys: 3,
    rootThreshold: 2,
    caSpkiSha256: new Uint8Array(32).fill(1),
    issuedS: ISSUED_S,
    expiresS: ISSUED_S + 30 * 86_400,
  });
  chain = chainOf([ceremony.document]);
});

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-change-"));
  identityDir = join(folder, "identity");
});

const folders: string[] = [];
afterAll(() => {
  for (const each of folders) rmSync(each, { recursive: true, force: true });
});
beforeEach(() => void folders.push(folder));

function chainOf(documents: readonly string[]): TrustRootChain {
  const verified = verifyTrustRootChain({ documents, pinnedRootThk: ceremony.rootThk }, nodeCrypto);
  if (verified.result === "refused") throw new Error(`${verified.code}: ${verified.detail}`);
  return verified.chain;
}

const compose = (change: Omit<TrustRootChange, "issuedS"> = {}, from = chain): TrustRootProposal =>
  composeTrustRoot(from, { issuedS: LATER_S, ...change });

const signer = (at: number): ReturnType<typeof createSigner> =>
  createSigner(ceremony.rootKeys[at]?.seed ?? new Uint8Array(32));

/** Signed by the first two root keys, and so in force. */
function followed(proposal: TrustRootProposal, from = chain): TrustRootChain {
  const signed = signProposal(from, signProposal(from, proposal, signer(0)), signer(1));
  return chainOf([...from.versions.map(({ note }) => note), formatProposal(signed)]);
}

function ceremonyRootVkey(): Vkey {
  const [key] = chain.newest.trustRoot.rootKeys.keys;
  if (key === undefined) throw new Error("a trust root has root keys");
  return key;
}

async function newNode(nodeId: string): Promise<NodeCard> {
  return prepareNode({ identityDir, nodeId, chain, logSeed: ceremony.logSeed });
}

describe("the next version", () => {
  test("is the one before, with another number, time and predecessor, if nothing is asked for", () => {
    const { trustRoot } = compose();
    const before = chain.newest.trustRoot;
    expect(trustRoot).toEqual({
      ...before,
      version: 2,
      previous: chain.newest.rootThk,
      issuedS: LATER_S,
      expiresS: LATER_S + 30 * 86_400,
    });
  });

  test("takes a new node, retires one and closes its origin", async () => {
    const card = await newNode("d");
    const { trustRoot } = compose({ actives: [card], retire: ["c"] });
    expect(trustRoot.nodes.map(({ nodeId, status }) => `${nodeId} ${status}`)).toEqual([
      "a active",
      "b active",
      "c retired",
      "d active",
    ]);
    const gone = trustRoot.nodes.find(({ nodeId }) => nodeId === "c")?.originFingerprint ?? new Uint8Array();
    const statuses = trustRoot.origins.map(({ originFingerprint, status }) =>
      bytesToHex(originFingerprint) === bytesToHex(gone) ? `own ${status}` : status,
    );
    expect(statuses.toSorted()).toEqual(["active", "active", "active", "own closed"]);
  });

  test("takes operators and witnesses, gives one another key, and lets others go", async () => {
    const operatorKey = async (label: string, file: string): Promise<Vkey> => {
      const key = { path: join(folder, file), clusterName: "change.test", label, passphrase: null };
      return (await createOperatorKey(key)).vkey;
    };
    const witness = (name: string, byte: number): TrustRootWitness => {
      const { publicKey } = createSigner(new Uint8Array(32).fill(byte));
      const vkey = makeVkey(`${name}.example`, VKEY_TYPE.cosignature, publicKey, nodeCrypto.sha256);
      return { name, vkey, url: `https://${name}.example` };
    };
    const [first, other] = [await operatorKey("dora", "dora"), await operatorKey("dora", "dora-2")];
    const three = [witness("north", 1), witness("south", 2), witness("west", 3)];
    const second = compose({ addOperators: [first], addWitnesses: three });
    expect(second.trustRoot.operators.map(({ name }) => name)).toEqual(["dora", "operator"]);
    expect([second.trustRoot.witnesses, second.trustRoot.witnessQuorum]).toEqual([three, 2]);
    const third = compose(
      { removeOperators: ["operator", "dora"], addOperators: [other], removeWitnesses: ["south"] },
      followed(second),
    );
    expect(third.trustRoot.operators).toEqual([{ name: "dora", vkey: other }]);
    expect(third.trustRoot.witnesses.map(({ name }) => name)).toEqual(["north", "west"]);
    const fourth = compose({ removeWitnesses: ["north", "west"] }, followed(third, followed(second)));
    expect([fourth.trustRoot.witnesses, fourth.trustRoot.witnessQuorum]).toEqual([[], 0]);
    expect(() => compose({ removeOperators: ["nobody"] })).toThrow("no operator nobody");
    expect(() => compose({ addOperators: [ceremonyRootVkey()] })).toThrow("no key of an operator");
    expect(() => compose({ addWitnesses: three, witnessQuorum: 1 })).toThrow("not a majority of 3 witnesses");
  });

  test("changes root keys, authorities, quorum and expiry", async () => {
    const drawn = await createRootKey({
      path: join(folder, "dora"),
      clusterName: "change.test",
      label: "dora",
      passphrase: null,
    });
    const { trustRoot } = compose({
      addRootKeys: [drawn.vkey],
      removeRootKeys: ["root-1", "change.test/root/root-2"],
      rootThreshold: 1,
      addCas: [new Uint8Array(32).fill(2)],
      removeCas: [new Uint8Array(32).fill(1)],
      quorum: 3,
      expiresS: LATER_S + 10,
    });
    expect(trustRoot.rootKeys.keys.map(({ name }) => name)).toEqual([
      "change.test/root/dora",
      "change.test/root/root-3",
    ]);
    expect([trustRoot.rootKeys.threshold, trustRoot.quorum, trustRoot.expiresS]).toEqual([1, 3, LATER_S + 10]);
    expect(trustRoot.ca).toEqual([new Uint8Array(32).fill(2)]);
  });

  test("gives a restored cluster a raised epoch: other nodes, and no origin that stays open", async () => {
    const [first, second] = chain.newest.trustRoot.origins;
    const actives = await Promise.all(["x", "y", "z"].map((nodeId) => newNode(nodeId)));
    const retire = ["a", "b", "c"];
    const loseOrigins = [first, second].map((origin) => bytesToHex(origin?.originFingerprint ?? new Uint8Array()));
    const { trustRoot } = compose({ raiseEpoch: true, loseOrigins, retire, actives });
    expect(trustRoot.epoch).toBe(1);
    const statuses = trustRoot.origins.map(({ status }) => status).toSorted();
    expect(statuses).toEqual(["active", "active", "active", "closed", "lost", "lost"]);
    expect(() => compose({ raiseEpoch: true, loseOrigins, retire: ["a", "b"], actives, quorum: 3 })).toThrow(
      /c was there before/,
    );
    expect(() => compose({ raiseEpoch: true })).toThrow(/a was there before/);
    const after = followed(compose({ raiseEpoch: true, loseOrigins, retire, actives }));
    expect(compose({ expiresS: LATER_S + 20 }, after).trustRoot.epoch).toBe(1);
  });

  test("gives up an origin of a living cluster, for good, and signs that as any version", () => {
    const [first] = chain.newest.trustRoot.origins;
    const loseOrigins = [bytesToHex(first?.originFingerprint ?? new Uint8Array())];
    const after = followed(compose({ loseOrigins }));
    const { epoch, origins } = after.newest.trustRoot;
    expect([epoch, ...origins.map(({ status }) => status)]).toEqual([0, "lost", "active", "active"]);
    expect(compose({ expiresS: LATER_S + 20 }, after).trustRoot.origins[0]?.status).toBe("lost");
  });

  test.each<[string, Omit<TrustRootChange, "issuedS">, RegExp]>([
    ["a node that is not listed", { retire: ["z"] }, /lists no node z/],
    ["a learner that is none", { promote: ["z"] }, /lists no node z/],
    ["two things for one node", { retire: ["a"], distrust: ["a"] }, /two things are asked for of node a/],
    ["too few active nodes for the quorum", { retire: ["b", "c"] }, /quorum/],
    ["a quorum that is no majority", { quorum: 1 }, /quorum/],
    ["a quorum of more than there are", { quorum: 4 }, /quorum/],
    ["a root key that is not there", { removeRootKeys: ["zoe"] }, /no root key zoe/],
    ["too few root keys for the threshold", { removeRootKeys: ["root-1", "root-2"] }, /root keys/],
    ["no authority", { removeCas: [new Uint8Array(32).fill(1)] }, /no CA would be left/],
    ["an authority that is not pinned", { removeCas: [new Uint8Array(32)] }, /no CA 0000/],
    ["an end before its beginning", { expiresS: LATER_S }, /expires before/],
    ["an origin that is not listed", { loseOrigins: ["00".repeat(32)] }, /no origin 0000/],
  ])("is refused with %s", (_what, change, reason) => {
    expect(() => compose(change)).toThrow(reason);
  });

  test("is refused with a node id that was used, a card of another cluster, a key of another use", async () => {
    const card = await newNode("d");
    const after = followed(compose({ learners: [card] }));
    expect(() => compose({ learners: [card] }, after)).toThrow(/never used again/);
    expect(() => compose({ learners: [{ ...card, clusterName: "other.test" }] })).toThrow(/another cluster/);
    expect(() => compose({ learners: [{ ...card, authPublicKey: card.cosignerVkey.publicKey }] })).toThrow(
      /another use/,
    );
  });
});

describe("signatures on a proposal", () => {
  test("count towards the version before and the proposed one, in any order, on copies put together", () => {
    const proposal = parseProposal(formatProposal(compose({ removeRootKeys: ["root-3"] })));
    expect(countSignatures(chain, proposal).map(({ signed }) => signed.length)).toEqual([0, 0]);
    const [left, right] = [signProposal(chain, proposal, signer(2)), signProposal(chain, proposal, signer(1))];
    const both = mergeProposals([left, parseProposal(formatProposal(right)), right]);
    expect(countSignatures(chain, both).map(({ signed }) => signed.length)).toEqual([2, 1]);
    const all = signProposal(chain, both, signer(0));
    expect(countSignatures(chain, all).map(({ signed }) => signed.length)).toEqual([3, 2]);
    expect(chainOf([ceremony.document, formatProposal(all)]).newest.trustRoot.version).toBe(2);
  });

  test("are made once, by root keys alone, over one text", () => {
    const proposal = compose();
    const once = signProposal(chain, proposal, signer(0));
    expect(signProposal(chain, once, signer(0))).toEqual(once);
    expect(() => signProposal(chain, proposal, createSigner(new Uint8Array(32).fill(9)))).toThrow(/no root key/);
    expect(() => mergeProposals([proposal, compose({ quorum: 3 })])).toThrow(/differ/);
    expect(() => mergeProposals([])).toThrow(/no proposal/);
  });

  test("of a key that did not sign this text do not count", () => {
    const other = signProposal(chain, compose({ quorum: 3 }), signer(0));
    const forged = { ...compose(), lines: other.lines };
    expect(countSignatures(chain, forged)[0]?.signed).toEqual([]);
    expect(judgeProposal(chain, forged)).toMatchObject({ code: "signature_invalid" });
  });

  test.each<[string, (proposal: TrustRootProposal) => TrustRootProposal, string]>([
    ["leaves a version out", () => compose({}, followed(compose())), "version_gap"],
    [
      "follows another document",
      () => ({ ...compose(), text: compose().text.replace(/version 2 0 ../, "version 2 0 00") }),
      "previous_mismatch",
    ],
  ])("do not help a proposal that %s", (_what, spoil, code) => {
    expect(judgeProposal(chain, spoil(compose()))).toMatchObject({ code });
  });
});

describe("a root key in a file", () => {
  const plain = (label = "eve"): Parameters<typeof createRootKey>[0] => ({
    path: join(folder, label),
    clusterName: "change.test",
    label,
    passphrase: null,
  });

  test(
    "is sealed by its passphrase, or plain, and its public half stands beside it",
    async () => {
      const sealed = await createRootKey({ ...plain(), passphrase: "correct horse" });
      const path = join(folder, "eve");
      expect(formatVkey(parseVkey(readFileSync(`${path}.pub`, "utf8").trimEnd(), nodeCrypto.sha256))).toBe(
        formatVkey(sealed.vkey),
      );
      expect(statSync(path).mode & 0o777).toBe(0o600);
      const { publicKey } = await readSealedKey(path, () => Promise.resolve("correct horse"));
      expect(publicKey).toEqual(sealed.vkey.publicKey);
      await createRootKey(plain("ida"));
      const ida = await readSealedKey(join(folder, "ida"), () => Promise.reject(new Error("nobody is asked")));
      expect(readFileSync(join(folder, "ida"), "utf8")).toMatch(/^[0-9a-f]{64}\n$/);
      expect(ida.publicKey).toHaveLength(32);
    },
    SCRYPT_TIMEOUT_MS,
  );

  test(
    "is not opened by another passphrase, nor after it was changed",
    async () => {
      await createRootKey({ ...plain(), passphrase: "correct horse" });
      const path = join(folder, "eve");
      await expect(readSealedKey(path, () => Promise.resolve("battery staple"))).rejects.toMatchObject({
        code: "malformed",
      });
      const key = JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
      writeFileSync(path, JSON.stringify({ ...key, vkey: String(key.vkey).replace("eve", "eva") }));
      await expect(readSealedKey(path, () => Promise.resolve("correct horse"))).rejects.toMatchObject({
        code: "malformed",
      });
    },
    SCRYPT_TIMEOUT_MS,
  );

  test.each<[string, string, string]>([
    ["nothing", "", "malformed"],
    ["other JSON", "{}", "malformed"],
    ["no hex", "zz".repeat(32), "malformed"],
    ["a key that is too short", "00".repeat(31), "malformed"],
  ])("is not read from %s", async (_what, content, code) => {
    const path = join(folder, "key");
    writeFileSync(path, content, { mode: 0o600 });
    await expect(readSealedKey(path, () => Promise.resolve("x"))).rejects.toMatchObject({ code });
  });

  test("is never overwritten, has a legal label, a passphrase of some length, and is its owner's alone", async () => {
    await createRootKey(plain());
    await expect(createRootKey(plain())).rejects.toMatchObject({ code: "exists" });
    await expect(createRootKey({ ...plain("Eve"), path: join(folder, "x") })).rejects.toThrow(RangeError);
    await expect(createRootKey({ ...plain("ute"), passphrase: "short" })).rejects.toThrow(RangeError);
    const open = join(folder, "open");
    writeFileSync(open, `${"00".repeat(32)}\n`, { mode: 0o644 });
    await expect(readSealedKey(open, () => Promise.resolve(""))).rejects.toMatchObject({ code: "mode_too_wide" });
  });
});

describe("a node's folder", () => {
  test("is made once, with keys that its card names and the trust roots from the first on", async () => {
    const after = followed(compose());
    const card = await prepareNode({ identityDir, nodeId: "d", chain: after, logSeed: ceremony.logSeed });
    const cosigner = createSigner(Buffer.from(readFileSync(join(identityDir, "cosigner.key"), "utf8").trim(), "hex"));
    expect(card.cosignerVkey.publicKey).toEqual(cosigner.publicKey);
    expect((await readTrustRoots(identityDir)).versions).toHaveLength(2);
    expect(parseNodeCard(formatNodeCard(card))).toEqual(card);
    await expect(newNode("d")).rejects.toMatchObject({ code: "exists" });
    await expect(newNode("a")).rejects.toThrow(/never used again/);
  });

  test("gets other keys beside those in use, which take their place once they are named", async () => {
    const card = await newNode("d");
    const joined = followed(compose({ learners: [card] }));
    await writeTrustRoots(identityDir, joined);
    const rotation = { identityDir, nodeId: "d", chain: joined, keys: ["cosigner", "auth"] as const };
    const next = await prepareRotation(rotation);
    expect(next.originFingerprint).toEqual(card.originFingerprint);
    expect(next.cosignerVkey.publicKey).not.toEqual(card.cosignerVkey.publicKey);
    await expect(prepareRotation(rotation)).rejects.toMatchObject({ code: "exists" });
    const before = await settleNode({ identityDir, nodeId: "d", chain: joined });
    expect(before).toEqual({ version: 2, replaced: [], waiting: ["auth", "cosigner"] });
    const rotated = followed(compose({ newKeys: [next] }, joined), joined);
    const settled = await settleNode({ identityDir, nodeId: "d", chain: rotated });
    expect(settled).toEqual({ version: 3, replaced: ["auth", "cosigner"], waiting: [] });
    const auth = createSigner(Buffer.from(readFileSync(join(identityDir, "auth.key"), "utf8").trim(), "hex"));
    expect(auth.publicKey).toEqual(next.authPublicKey);
    expect(await discardRotation(identityDir)).toEqual([]);
  });

  test("does not settle on trust roots of another beginning, nor for a node they do not list", async () => {
    await newNode("d");
    await expect(settleNode({ identityDir, nodeId: "d", chain })).rejects.toThrow(/lists no node d/);
    const other = holdCeremony({
      clusterName: "other.test",
      nodeIds: ["d"],
      quorum: 1,
      rootKeys: 1,
      rootThreshold: 1,
      caSpkiSha256: new Uint8Array(32),
      issuedS: ISSUED_S,
      expiresS: LATER_S,
    });
    const verified = verifyTrustRootChain({ documents: [other.document], pinnedRootThk: other.rootThk }, nodeCrypto);
    if (verified.result === "refused") throw new Error(verified.code);
    await expect(settleNode({ identityDir, nodeId: "d", chain: verified.chain })).rejects.toThrow(/pinned there/);
  });

  test("is refused when a document in it was exchanged", async () => {
    await newNode("d");
    const path = join(identityDir, "trust-root.txt");
    writeFileSync(path, readFileSync(path, "utf8").replace("quorum 2", "quorum 3"));
    await expect(readTrustRoots(identityDir)).rejects.toMatchObject({ code: "malformed" });
  });
});

describe("a node card", () => {
  test.each<[string, (text: string) => string]>([
    ["nothing", () => ""],
    ["another header", (text) => text.replace("node-card", "trust-root")],
    ["a line too many", (text) => `${text}node\n`],
    ["a line less", (text) => text.split("\n").slice(0, 3).join("\n")],
    ["two spaces", (text) => text.replace("cluster ", "cluster  ")],
    ["upper-case hex", (text) => text.replace(/[0-9a-f]{64}\n$/u, (hex) => hex.toUpperCase())],
    ["another node's cosigner key", (text) => text.replace("node d ", "node e ")],
    ["a key id that is not that of its key", (text) => text.replace(/\+[0-9a-f]{8}\+/u, "+00000000+")],
    ["an illegal node id", (text) => text.replace("node d ", "node D ")],
    ["a text without end", (text) => text + "x".repeat(5000)],
  ])("is refused with %s", async (_what, spoil) => {
    const text = formatNodeCard(await newNode("d"));
    expect(() => parseNodeCard(spoil(text))).toThrow(/card|key|legal/);
    expect(formatNodeCard(parseNodeCard(text))).toBe(text);
  });
});
