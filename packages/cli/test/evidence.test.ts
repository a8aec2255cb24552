import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  formatCheckpoint,
  formatContradiction,
  formatNote,
} from "@event-anchoring/protocol";
import { threeNodeCeremony } from "@event-anchoring/testkit/receipts";
import { EXIT } from "../src/terminal/cli-error.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

const { sha256 } = nodeCrypto;
const NAME = "test.example/evidence";
const ceremony = threeNodeCeremony(NAME, 1_790_000_000, ["a", "b", "c"]);
const [first] = ceremony.nodes;
if (first === undefined) throw new Error("the ceremony made nodes");
const ORIGIN = checkpointOrigin(NAME, first.originFingerprint);

function noteOf(root: number, ...by: readonly string[]): string {
  const text = formatCheckpoint({ origin: ORIGIN, treeSize: 12, rootHash: new Uint8Array(32).fill(root) });
  const lines = ceremony.nodes.flatMap(({ nodeId, cosignerSeed }) => {
    if (!by.includes(nodeId)) return [];
    const { publicKey, sign } = createSigner(cosignerSeed);
    const signature = sign(cosignatureMessage(3, text));
    return [cosignatureLine({ name: `${NAME}/node/${nodeId}`, publicKey, timeS: 3, signature }, sha256)];
  });
  return formatNote(text, lines);
}

let folder: string;
let trust: readonly string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-evidence-"));
  writeFileSync(join(folder, "trust-root.txt"), ceremony.document);
  trust = ["--trust-root", join(folder, "trust-root.txt"), "--root-thk", bytesToHex(ceremony.rootThk)];
});

afterEach(() => rmSync(folder, { recursive: true }));

describe("anchorctl evidence", () => {
  test("names the key that has signed both roots, and calls two certificates a fork", async () => {
    writeFileSync(join(folder, "x.notes"), formatContradiction([noteOf(1, "a", "b"), noteOf(2, "b", "c")]));
    const run = await runAnchorctl(folder, ["evidence", ".", ...trust]);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stdout).toContain(`${NAME}/node/b has signed both roots`);
    expect(run.stdout).toContain("each root has a quorum certificate");
    const json = await runAnchorctl(folder, ["evidence", "x.notes", "--json", ...trust]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      evidence: [{ valid: true, origin: ORIGIN, tree_size: 12, named: [`${NAME}/node/b`] }],
    });
  });

  test("names nobody where each key has signed one root", async () => {
    writeFileSync(join(folder, "x.notes"), formatContradiction([noteOf(1, "a", "b"), noteOf(2, "c")]));
    const run = await runAnchorctl(folder, ["evidence", "x.notes", ...trust]);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(run.stdout).toContain("it is not known which is wrong");
    expect(run.stdout).not.toContain("fork");
  });

  test("without a pin is nobody's: exit 6", async () => {
    writeFileSync(join(folder, "x.notes"), formatContradiction([noteOf(1, "a"), noteOf(2, "a")]));
    const run = await runAnchorctl(folder, ["evidence", "x.notes", ...trust.slice(0, 2)]);
    expect(run.exitCode).toBe(EXIT.notPinned);
    expect(run.stdout).toContain("NOT PINNED");
  });

  test("that was altered proves nothing: exit 1", async () => {
    const text = formatContradiction([noteOf(1, "a", "b"), noteOf(2, "b", "c")]);
    writeFileSync(join(folder, "x.notes"), text.replace("\n12\n", "\n13\n").replace("\n12\n", "\n13\n"));
    const run = await runAnchorctl(folder, ["evidence", "x.notes", ...trust]);
    expect(run.exitCode).toBe(EXIT.invalid);
    expect(run.stdout).toContain("NOT VALID");
    expect(run.stdout).toContain("line_refused");
  });

  test.each([
    ["no file", [], "name a file of evidence"],
    ["a file that is not there", ["nothing.notes"], "there is no such file"],
  ])("of %s is a wrong call", async (_what, paths, told) => {
    const run = await runAnchorctl(folder, ["evidence", ...paths, ...trust]);
    expect(run.exitCode).toBe(EXIT.usage);
    expect(run.stderr).toContain(told);
  });

  test("is cleared by moving it aside, never deleted", async () => {
    writeFileSync(join(folder, "x.notes"), formatContradiction([noteOf(1, "a"), noteOf(2, "a")]));
    const run = await runAnchorctl(folder, ["evidence", "clear", "."]);
    expect(run.exitCode).toBe(EXIT.ok);
    expect(readdirSync(join(folder, "cleared"))).toEqual(["x.notes"]);
    expect(existsSync(join(folder, "x.notes"))).toBe(false);
    const none = await runAnchorctl(folder, ["evidence", ".", ...trust]);
    expect([none.exitCode, none.stdout]).toEqual([EXIT.ok, "no evidence is kept there\n"]);
  });
});
