import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  VKEY_TYPE,
  asciiToBytes,
  bytesToBase64,
  bytesToHex,
  concatBytes,
  cosignatureMessage,
  formatCheckpoint,
  interiorHash,
  makeVkey,
  noteMessage,
  parseSignedTrustRoot,
  renderPolicy,
} from "@event-anchoring/protocol";
import type { Signer } from "@event-anchoring/node-crypto";
import { BundleWorld } from "../../packages/bundle/test/vector-builders/bundle-world.ts";
import { fixedKey, hashOf, sha256 } from "../vector-builders/keys.ts";
import { foundIn, replaced } from "./alter.ts";
import type { Alter } from "./alter.ts";

// The rendering for Sigsum, read by sigsum-verify of sigsum-go. That tool takes Sigsum's own proofs alone, so the keys
// of a trust root sign one: a tree of two leaves whose origin is named by Sigsum's rule. Quorum and keys are ours.

const PROGRAM = process.env["SIGSUM_VERIFY"] ?? "sigsum-verify";
const isHere = spawnSync(PROGRAM, ["--version"]).status === 0;
const describeWithSigsum = isHere ? describe : describe.skip;
if (!isHere) {
  const how = "it needs sigsum-verify of sigsum-go 0.14 on the PATH, or named by SIGSUM_VERIFY";
  process.stderr.write(`test/interop/sigsum.test.ts is skipped: ${how}\n`);
}

const world = new BundleWorld();
const [a, b, c] = [0, 1, 2].map((at) => world.cluster.node(at).cosigner);
const LOG = world.cluster.node(0).log;
const submitter = fixedKey(0x51);
const MESSAGE = hashOf("a message");
const POLICY = renderPolicy(parseSignedTrustRoot(world.documents[0] ?? "", sha256), "sigsum");
const TIME_S = 1_770_000_000;

function sigsumProof(signers: readonly (Signer | undefined)[], log: Signer = LOG): string {
  const checksum = sha256(MESSAGE);
  const signature = submitter.sign(concatBytes(asciiToBytes("sigsum.org/v1/tree-leaf\0"), checksum));
  const keyHash = sha256(submitter.publicKey);
  const leaf = sha256(concatBytes(Uint8Array.of(0), checksum, signature, keyHash));
  const [sibling, logHash] = [hashOf("another leaf"), bytesToHex(sha256(log.publicKey))];
  const rootHash = interiorHash(sibling, leaf, sha256);
  const text = formatCheckpoint({ origin: `sigsum.org/v1/tree/${logHash}`, treeSize: 2, rootHash });
  const cosignatures = signers.flatMap((signer) => {
    if (signer === undefined) return [];
    const signed = bytesToHex(signer.sign(cosignatureMessage(TIME_S, text)));
    return [`cosignature=${bytesToHex(sha256(signer.publicKey))} ${TIME_S} ${signed}`];
  });
  return [
    "version=2",
    `log=${logHash}`,
    `leaf=${bytesToHex(keyHash)} ${bytesToHex(signature)}`,
    "",
    "size=2",
    `root_hash=${bytesToHex(rootHash)}`,
    `signature=${bytesToHex(log.sign(noteMessage(text)))}`,
    ...cosignatures,
    "",
    "leaf_index=1",
    `node_hash=${bytesToHex(sibling)}`,
    "",
  ].join("\n");
}

function sshKey(publicKey: Uint8Array): string {
  const field = (bytes: Uint8Array): Uint8Array => concatBytes(Uint8Array.of(0, 0, 0, bytes.length), bytes);
  return `ssh-ed25519 ${bytesToBase64(concatBytes(field(asciiToBytes("ssh-ed25519")), field(publicKey)))}\n`;
}

/** The policy of the same trust root with three witnesses, of which two are needed. */
function witnessedPolicy(witnesses: readonly Signer[]): string {
  const signed = parseSignedTrustRoot(world.documents[0] ?? "", sha256);
  const listed = witnesses.map(({ publicKey }, at) => {
    const name = `w${at}`;
    const vkey = makeVkey(`${name}.example`, VKEY_TYPE.cosignature, publicKey, sha256);
    return { name, vkey, url: `https://${name}.example` };
  });
  const trustRoot = { ...signed.trustRoot, witnesses: listed, witnessQuorum: 2 };
  return renderPolicy({ ...signed, trustRoot }, "sigsum", "witnessed");
}

let home: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchoring-sigsum-"));
});

afterAll(() => {
  rmSync(home, { recursive: true });
});

/** What it says against the proof; empty: it accepts it. */
function refusalOf(proof: string, policy = POLICY): string {
  const path = (name: string): string => join(home, name);
  writeFileSync(path("proof"), proof);
  writeFileSync(path("policy"), policy);
  writeFileSync(path("key"), sshKey(submitter.publicKey));
  const args = ["--raw-hash", "-k", path("key"), "-p", path("policy"), path("proof")];
  const run = spawnSync(PROGRAM, args, { input: bytesToHex(MESSAGE), encoding: "utf8" });
  if ((run.status === 0) !== (run.stderr === "")) throw new Error(`it ended with ${run.status}: ${run.stderr}`);
  return run.stderr;
}

const keyOf = (node: string): string => foundIn(POLICY, new RegExp(`^witness ${node} (\\S+)`, "mu"));
const STRANGER = bytesToHex(fixedKey(0x77).publicKey);

describeWithSigsum("the rendering of a policy for Sigsum", () => {
  test.each([
    ["a and b", [a, b]],
    ["a and c", [a, c]],
    ["all", [a, b, c]],
    ["a, c and a stranger", [fixedKey(0x77), a, c]],
  ])("is satisfied by %s", (_title, signers) => {
    expect(refusalOf(sigsumProof(signers))).toBe("");
  });

  test.each([
    ["nobody", []],
    ["one node", [b]],
    ["one node and a stranger", [b, fixedKey(0x77)]],
    ["one node and the log", [b, LOG]],
  ])("is not satisfied by %s", (_title, signers) => {
    expect(refusalOf(sigsumProof(signers))).toMatch(/not enough cosignatures/u);
  });

  test("is not satisfied by another log", () => {
    expect(refusalOf(sigsumProof([a, b], fixedKey(0x77)))).toMatch(/unknown log/u);
  });

  test.each<[title: string, alter: Alter, said: RegExp]>([
    [
      "a bit of the log's signature",
      replaced(/(?<=^signature=)../mu, (hex) => (hex === "00" ? "01" : "00")),
      /log sig/u,
    ],
    ["a larger tree", replaced("size=2", "size=3"), /log signature/u],
    ["another root", replaced(/(?<=^root_hash=)../mu, (hex) => (hex === "00" ? "01" : "00")), /log signature/u],
    ["another time", replaced(` ${TIME_S} `, ` ${TIME_S + 1} `), /not enough cosignatures/u],
    ["another index", replaced("leaf_index=1", "leaf_index=0"), /inclusion|proof/iu],
    ["another hash", replaced(/(?<=^node_hash=)../mu, (hex) => (hex === "00" ? "01" : "00")), /inclusion|proof/iu],
  ])("is not satisfied by a proof with %s", (_title, alter, said) => {
    expect(refusalOf(alter(sigsumProof([a, b])))).toMatch(said);
  });

  test.each<[title: string, alter: Alter, said: RegExp]>([
    ["a stranger's key for that of a node", replaced(keyOf("a"), STRANGER), /not enough cosignatures/u],
    ["a quorum of three", replaced("group nodes 2", "group nodes 3"), /not enough cosignatures/u],
    ["a quorum that counts one of the two", replaced("nodes 2 a b c", "nodes 2 b c"), /not enough cosignatures/u],
    ["a stranger's key for that of the log", replaced(bytesToHex(LOG.publicKey), STRANGER), /unknown log/u],
    ["more nodes than there are", replaced("group nodes 2", "group nodes 4"), /threshold/u],
    ["a key twice", replaced(keyOf("b"), keyOf("a")), /duplicate witness/u],
    ["a key of 31 bytes", replaced(keyOf("b"), keyOf("b").slice(2)), /policy/u],
    ["a member that is not defined", replaced("a b c", "a b z"), /undefined name/u],
    ["a member twice", replaced("a b c", "a b b"), /already a member/u],
    ["no quorum", replaced("quorum nodes\n", ""), /no quorum/u],
    ["a statement that nobody knows", replaced("quorum", "trust all\nquorum"), /unknown keyword/u],
  ])("is refused with %s", (_title, alter, said) => {
    expect(refusalOf(sigsumProof([a, b]), alter(POLICY))).toMatch(said);
  });

  test("is not the one for transparency-dev", () => {
    const tlog = renderPolicy(parseSignedTrustRoot(world.documents[0] ?? "", sha256), "tlog");
    expect(refusalOf(sigsumProof([a, b]), tlog)).toMatch(/policy/u);
  });
});

describeWithSigsum("the rendering of a policy of witnessed heads for Sigsum", () => {
  const outside = [fixedKey(0x61), fixedKey(0x62), fixedKey(0x63)];
  const [north, south] = outside;

  test.each([
    ["two nodes and two witnesses", [a, b, north, south], true],
    ["all", [a, b, c, ...outside], true],
    ["one witness too few", [a, b, c, north], false],
    ["one node too few", [a, ...outside], false],
    ["witnesses alone", outside, false],
    ["nodes alone", [a, b, c], false],
  ])("asks for nodes and for witnesses: %s", (_title, signers, isSatisfied) => {
    const refusal = refusalOf(sigsumProof(signers), witnessedPolicy(outside));
    expect(refusal).toMatch(isSatisfied ? /^$/u : /not enough cosignatures/u);
  });
});
