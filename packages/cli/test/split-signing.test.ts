import { createPrivateKey, createPublicKey, sign } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex } from "@event-anchoring/protocol";
import { PaperCluster } from "./paper-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

let home: string;
let cluster: PaperCluster;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-sign-"));
  cluster = await PaperCluster.start();
  writeFileSync(path("trust-root.txt"), cluster.ceremony.document);
  writeFileSync(path("root-thk.txt"), bytesToHex(cluster.ceremony.rootThk));
});

afterEach(() => {
  cluster.stop();
  rmSync(home, { recursive: true, force: true });
});

const path = (name: string): string => join(home, name);

const run = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, args);

/** At the paper cluster, with its trust root. */
const online = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, [...args, "--api-url", cluster.apiUrl, "--trust-root", path("trust-root.txt")], {
    ANCHORCTL_API_KEY: "ank_test",
  });

async function keygen(name: string, ...args: readonly string[]): Promise<string> {
  const { exitCode, stdout } = await run("keygen", path(name), "--json", ...args);
  expect(exitCode).toBe(0);
  return (JSON.parse(stdout) as { readonly public_key: string }).public_key;
}

const HASH = "ab".repeat(32);
const CLAIM = ["--entity", HASH, "--attribute-type", "0x1", "--attribute-hash", "cd".repeat(32)];

describe("anchorctl keygen", () => {
  test.each(["pem", "seed"])(
    "draws a key in %s, its owner's alone, and prints the public half only",
    async (format) => {
      const { exitCode, stdout, stderr } = await run("keygen", path("key"), "--format", format);
      expect([exitCode, stderr]).toEqual([0, ""]);
      expect(statSync(path("key")).mode & 0o777).toBe(0o600);
      const content = readFileSync(path("key"));
      const seed =
        format === "seed" ? content : Buffer.from(content.toString().split("\n")[1] ?? "", "base64").subarray(16);
      expect(seed).toHaveLength(32);
      for (const encoding of ["hex", "base64"] as const) expect(stdout).not.toContain(seed.toString(encoding));
      expect(stdout).toContain(readFileSync(path("key.pub"), "utf8").trim());
    },
  );

  test("overwrites nothing", async () => {
    await keygen("key");
    const before = readFileSync(path("key"), "utf8");
    const again = await run("keygen", path("key"), "--json");
    expect([again.exitCode, JSON.parse(again.stdout)]).toEqual([2, expect.objectContaining({ failure: "key_exists" })]);
    expect(readFileSync(path("key"), "utf8")).toBe(before);
  });

  test("makes keys that other programs read", async () => {
    const publicKey = await keygen("key");
    const der = createPublicKey(readFileSync(path("key"))).export({ format: "der", type: "spki" });
    expect(der.subarray(-32).toString("hex")).toBe(publicKey);
  });
});

describe("prepare, sign, submit", () => {
  async function prepareClaim(): Promise<void> {
    await keygen("subject");
    await keygen("issuer", "--format", "seed");
    const parties = ["--subject", path("subject.pub"), "--issuer", path("issuer.pub")];
    const prepared = await run(
      "prepare",
      "claim",
      ...CLAIM,
      ...parties,
      "--origin",
      cluster.origin,
      "--out",
      path("claim"),
    );
    expect([prepared.exitCode, prepared.stderr]).toEqual([0, ""]);
  }

  test("is offline until it is sent; the second signer's bytes exist after the first signature", async () => {
    await prepareClaim();
    expect(readdirSync(home).filter((name) => name.endsWith(".bin"))).toEqual(["claim.subject.bin"]);
    expect(readFileSync(path("claim.subject.bin"))).toHaveLength(207);
    // As an HSM would: it sees the bytes and nothing else.
    const bytes = readFileSync(path("claim.subject.bin"));
    writeFileSync(path("signature"), sign(null, bytes, createPrivateKey(readFileSync(path("subject")))));
    expect((await run("sign", path("claim"), "--signature", path("signature"))).exitCode).toBe(0);
    expect(readFileSync(path("claim.issuer.bin"))).toHaveLength(130);
    expect((await run("sign", path("claim"), "--key", path("issuer"))).exitCode).toBe(0);
    expect(cluster.asked).toEqual([]);
    const sent = await online("submit", path("claim"), "--out", path("receipt"), "--json");
    expect([sent.exitCode, sent.stderr]).toEqual([0, ""]);
    expect(JSON.parse(sent.stdout)).toMatchObject({ kind: "claim", receipt_verified: true, replayed: false });
    expect(existsSync(path("receipt"))).toBe(true);
  });

  test("says the bytes, their digest and who signs to programs", async () => {
    await prepareClaim();
    const { next } = JSON.parse(readFileSync(path("claim"), "utf8")) as {
      readonly next: Readonly<Record<string, string>>;
    };
    expect(next).toMatchObject({ party: "subject", public_key: readFileSync(path("subject.pub"), "utf8").trim() });
    expect(next["payload"]).toBe(readFileSync(path("claim.subject.bin")).toString("hex"));
  });

  test.each([
    ["the second signer before the first", ["sign", "claim", "--key", "issuer"], 2, "key_differs"],
    ["a signature that is none", ["sign", "claim", "--signature", "00".repeat(64)], 1, "signature_invalid"],
    ["half a signature", ["sign", "claim", "--signature", "00".repeat(32)], 2, "signature_malformed"],
    ["no signature", ["sign", "claim"], 2, "signature_missing"],
    [
      "a key and a signature",
      ["sign", "claim", "--key", "issuer", "--signature", "00".repeat(64)],
      2,
      "signature_missing",
    ],
    ["a public key as a private one", ["sign", "claim", "--key", "claim"], 2, "key_file_open"],
    ["a key that is none", ["sign", "claim", "--key", "text"], 2, "key_malformed"],
    ["a key that is not there", ["sign", "claim", "--key", "nobody"], 2, "cannot_read"],
    ["a request that is none", ["sign", "issuer.pub", "--key", "issuer"], 2, "draft_malformed"],
  ])("refuses %s", async (_title, args, exitCode, failure) => {
    await prepareClaim();
    writeFileSync(path("text"), "no key", { mode: 0o600 });
    const located = args.map((arg) => (/^(claim|issuer|issuer\.pub|nobody|text)$/u.test(arg) ? path(arg) : arg));
    const refused = await run(...located, "--json");
    expect([refused.exitCode, JSON.parse(refused.stdout)]).toEqual([exitCode, expect.objectContaining({ failure })]);
    expect(existsSync(path("claim.issuer.bin"))).toBe(false);
  });

  test("does not read a private key that others can read", async () => {
    await prepareClaim();
    chmodSync(path("subject"), 0o640);
    const { exitCode, stderr } = await run("sign", path("claim"), "--key", path("subject"));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("chmod 600")]);
  });

  test("sends nothing that is not signed", async () => {
    await prepareClaim();
    const { exitCode, stderr } = await online("submit", path("claim"));
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("the subject has not signed yet")]);
    expect(cluster.asked).toEqual([]);
  });
});

describe("claim, grant, revoke", () => {
  test("record with keys that are here, and hold the receipt against what was signed", async () => {
    await Promise.all([keygen("subject"), keygen("issuer")]);
    const keys = ["--subject-key", path("subject"), "--issuer-key", path("issuer")];
    const claim = await online("claim", ...CLAIM, ...keys, "--expires", "30d", "--json");
    expect([claim.exitCode, claim.stderr]).toEqual([0, ""]);
    const { anchor_id: claimId } = JSON.parse(claim.stdout) as { readonly anchor_id: string };
    const grant = await online(
      "grant",
      "--grantor-claim",
      claimId,
      "--grantee-claim",
      HASH,
      "--scope-hash",
      HASH,
      "--json",
      "--grantor-key",
      path("subject"),
      "--witness-key",
      path("issuer"),
    );
    expect([grant.exitCode, grant.stderr]).toEqual([0, ""]);
    const revoked = await online("revoke", claimId, "--key", path("issuer"), "--reason", "key_compromise");
    expect([revoked.exitCode, revoked.stderr]).toEqual([0, ""]);
    expect(revoked.stdout).toContain("✓ revocation     recorded");
    const bodies = cluster.asked.filter(({ line }) => line.startsWith("POST")).map(({ body }) => JSON.stringify(body));
    const seed = readFileSync(path("subject")).toString("latin1").split("\n")[1] ?? "?";
    expect(bodies.join("")).not.toContain(Buffer.from(seed, "base64").subarray(16).toString("hex"));
  });

  test("keep a request whose outcome is unknown, to be sent again as it is", async () => {
    await Promise.all([keygen("subject"), keygen("issuer")]);
    const keys = ["--subject-key", path("subject"), "--issuer-key", path("issuer")];
    const busy = { status: 503, body: { code: "no_leader", detail: "" }, headers: { "retry-after": "60" } };
    cluster.once.set("POST /v1/claim-anchors", busy);
    const { exitCode, stderr } = await online("claim", ...CLAIM, ...keys, "--timeout", "5");
    expect([exitCode, stderr]).toEqual([4, expect.stringContaining("no_leader")]);
    const kept = readdirSync(home).find((name) => name.startsWith("anchorctl-claim-")) ?? "";
    const sent = cluster.asked.at(-1);
    expect((await online("submit", path(kept))).exitCode).toBe(0);
    expect(cluster.asked.at(-1)).toEqual(sent);
  });

  test.each([
    ["no key", ["revoke", HASH], "revoker_missing"],
    ["a key and no signature", ["revoke", HASH, "--key", "x", "--own"], "revoker_missing"],
    ["an id that is none", ["revoke", "claim", "--own"], "anchor_id_invalid"],
    [
      "both a hash and a file",
      ["claim", "--entity", HASH, "--attribute-type", "1", "--attribute-hash", HASH, "--attribute-file", "x"],
      "hash_missing",
    ],
    [
      "an attribute type that is none",
      ["claim", "--entity", HASH, "--attribute-type", "rank", "--attribute-hash", HASH],
      "invalid_input",
    ],
    [
      "an entity that is none",
      ["claim", "--entity", "me", "--attribute-type", "1", "--attribute-hash", HASH],
      "invalid_input",
    ],
    [
      "an origin that is none",
      ["claim", "--origin", "here", "--entity", HASH, "--attribute-type", "1", "--attribute-hash", HASH],
      "origin_invalid",
    ],
  ])("refuse %s before anything is sent", async (_title, args, failure) => {
    await Promise.all([keygen("subject"), keygen("issuer")]);
    const keys = args[0] === "claim" ? ["--subject-key", path("subject"), "--issuer-key", path("issuer")] : [];
    const { exitCode, stdout } = await online(...args, ...keys, "--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([2, expect.objectContaining({ failure })]);
    expect(cluster.asked.filter(({ line }) => line.startsWith("POST"))).toEqual([]);
  });
});
