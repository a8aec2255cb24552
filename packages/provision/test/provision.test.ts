import { X509Certificate, createPrivateKey } from "node:crypto";
import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { apiKeyIdentity, parseApiKey } from "@event-anchoring/control-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  logKeySeed,
  originFingerprintOf,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import {
  OPERATOR_LIFETIME_MS_MAX,
  act,
  createCertificateAuthority,
  createCluster,
  drawApiKey,
  drawReplacementApiKey,
  expiryOf,
  holdCeremony,
  issueCertificate,
  issueOperatorCertificate,
  loadCertificateAuthority,
  loadCluster,
  loadFirstOperator,
  makeNamedDirectory,
  readSeed,
  renewTls,
  spkiSha256Of,
  writePrivateFile,
} from "../src/index.ts";
import type { CeremonyPlan, NewCluster } from "../src/index.ts";

const NOW_MS = Date.UTC(2026, 10, 21);
let outDir: string;
beforeEach(async () => {
  outDir = join(await mkdtemp(join(tmpdir(), "provision-")), "cluster");
});
afterEach(async () => {
  await rm(join(outDir, ".."), { recursive: true });
});

function plan(changes: Partial<NewCluster> = {}): NewCluster {
  const nodes = ["a", "b", "c"].map((nodeId, index) => ({
    nodeId,
    controlHost: "127.0.0.1",
    controlPort: 7000 + index,
  }));
  return { clusterName: "local", nodes, quorum: 2, outDir, nowMs: NOW_MS, ...changes };
}

test("a folder that a person names keeps its mode if it is there, and is private if it is made", async () => {
  const parent = join(outDir, "..");
  await chmod(parent, 0o755);
  await makeNamedDirectory(parent);
  expect((await stat(parent)).mode & 0o777).toBe(0o755);
  await makeNamedDirectory(join(outDir, "within"));
  for (const made of [outDir, join(outDir, "within")]) expect((await stat(made)).mode & 0o777).toBe(0o700);
});

/** Every file below a folder, relative. */
async function filesBelow(dir: string): Promise<string[]> {
  const all = await readdir(dir, { recursive: true, withFileTypes: true });
  return all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1));
}

describe("a new cluster", () => {
  test("has every file a node needs, readable by its owner alone", async () => {
    const cluster = await createCluster(plan());
    const perNode = [
      "ca.crt",
      "tls.crt",
      "tls.key",
      "auth.key",
      "cosigner.key",
      "log.seed",
      "trust-root.txt",
      "root-thk.txt",
    ];
    const expected = [
      "ca/ca.crt",
      "ca/ca.key",
      "operators/operator.key",
      "root-keys/root-1.seed",
      "root-thk.txt",
      "trust-root.txt",
      ...["a", "b", "c"].flatMap((nodeId) => perNode.map((file) => `nodes/${nodeId}/identity/${file}`)),
    ];
    const files = await filesBelow(outDir);
    expect(files.toSorted()).toEqual(expected.toSorted());
    for (const file of files) expect((await stat(join(outDir, file))).mode & 0o777).toBe(0o600);
    for (const { dir, identityDir, runDir } of cluster.nodes) {
      for (const path of [dir, identityDir, runDir, join(dir, "promise")]) {
        expect((await stat(path)).mode & 0o777).toBe(0o700);
      }
    }
  });

  test("has a trust root that verifies from its pin and says what the files hold", async () => {
    const cluster = await createCluster(plan());
    const { trustRoot, rootThk } = parseSignedTrustRoot(cluster.trustRootDocument, nodeCrypto.sha256);
    const verified = verifyTrustRootChain(
      { documents: [cluster.trustRootDocument], pinnedRootThk: rootThk },
      nodeCrypto,
    );
    expect(verified.result).toBe("verified");
    expect(trustRoot).toMatchObject({ clusterName: "local", version: 1, epoch: 0, quorum: 2, issuedS: NOW_MS / 1000 });
    expect(trustRoot.nodes.map(({ nodeId, status }) => [nodeId, status])).toEqual([
      ["a", "active"],
      ["b", "active"],
      ["c", "active"],
    ]);
    for (const node of trustRoot.nodes) {
      const identityDir = join(outDir, "nodes", node.nodeId, "identity");
      const cosigner = createSigner(await readSeed(join(identityDir, "cosigner.key")));
      const auth = createSigner(await readSeed(join(identityDir, "auth.key")));
      const logSeed = await readSeed(join(identityDir, "log.seed"));
      const fingerprint = originFingerprintOf(trustRoot.clusterId, cosigner.publicKey, nodeCrypto.sha256);
      expect(node.originFingerprint).toEqual(fingerprint);
      expect(node.cosignerVkey.publicKey).toEqual(cosigner.publicKey);
      expect(node.authPublicKey).toEqual(auth.publicKey);
      const log = createSigner(logKeySeed(logSeed, fingerprint, nodeCrypto.sha256));
      const origin = trustRoot.origins.find(
        ({ originFingerprint }) => bytesToHex(originFingerprint) === bytesToHex(fingerprint),
      );
      expect(origin?.logVkey.publicKey).toEqual(log.publicKey);
      expect(await readFile(join(identityDir, "trust-root.txt"), "utf8")).toBe(cluster.trustRootDocument);
      expect(await readFile(join(identityDir, "root-thk.txt"), "utf8")).toBe(`${cluster.rootThk}\n`);
    }
    expect(trustRoot.ca).toEqual([spkiSha256Of(await readFile(join(outDir, "ca", "ca.crt"), "utf8"))]);
  });

  test("is loaded as it was made", async () => {
    const made = await createCluster(plan());
    expect(await loadCluster(outDir)).toEqual(made);
  });

  test("shares nothing with another", async () => {
    const one = await createCluster(plan());
    const two = await createCluster(plan({ outDir: `${outDir}2` }));
    expect(one.clusterId).not.toBe(two.clusterId);
    const secrets = (await filesBelow(outDir)).filter((file) => /\.(key|seed)$/.test(file));
    const texts = await Promise.all(
      secrets.flatMap((file) => [outDir, `${outDir}2`].map((dir) => readFile(join(dir, file), "utf8"))),
    );
    // The log seed is the one secret that the three nodes of a cluster share.
    expect(new Set(texts).size).toBe(texts.length - 4);
  });

  test("is not made over another", async () => {
    await createCluster(plan());
    await expect(createCluster(plan())).rejects.toMatchObject({ code: "exists" });
  });

  test("that was not finished can be made again", async () => {
    await createCluster(plan());
    await rm(join(outDir, "trust-root.txt"));
    await expect(loadCluster(outDir)).rejects.toMatchObject({ code: "missing" });
    const again = await createCluster(plan());
    expect((await loadCluster(outDir)).rootThk).toBe(again.rootThk);
  });

  test("may have several root keys, of which more than half sign", async () => {
    const { trustRootDocument } = await createCluster(plan({ rootKeys: 3 }));
    const { trustRoot, lines } = parseSignedTrustRoot(trustRootDocument, nodeCrypto.sha256);
    expect(trustRoot.rootKeys.threshold).toBe(2);
    expect(trustRoot.rootKeys.keys).toHaveLength(3);
    expect(lines).toHaveLength(2);
    expect((await readdir(join(outDir, "root-keys"))).toSorted()).toEqual([
      "root-1.seed",
      "root-2.seed",
      "root-3.seed",
    ]);
  });

  test.each([
    ["a quorum of half", { quorum: 1 }],
    ["a quorum above all", { quorum: 4 }],
    ["a cluster name with a capital", { clusterName: "Local" }],
    ["an empty cluster name", { clusterName: "" }],
    ["no nodes", { nodes: [] }],
    ["a node twice", { nodes: [...plan().nodes.slice(0, 2), ...plan().nodes.slice(0, 1)] }],
    [
      "a node id with a capital",
      { nodes: plan().nodes.map((node) => ({ ...node, nodeId: node.nodeId.toUpperCase() })) },
    ],
    ["no root keys", { rootKeys: 0 }],
    ["more signers than root keys", { rootKeys: 2, rootThreshold: 3 }],
    ["a trust root that has expired when it is made", { trustRootLifetimeS: -1 }],
  ])("is not made with %s", async (_what, changes) => {
    await expect(createCluster(plan(changes))).rejects.toThrow();
    await expect(loadCluster(outDir)).rejects.toMatchObject({ code: "missing" });
  });
});

describe("a ceremony", () => {
  const ceremony: CeremonyPlan = {
    clusterName: "x.example",
    nodeIds: ["n1"],
    quorum: 1,
    rootKeys: 1,
    rootThreshold: 1,
    caSpkiSha256: new Uint8Array(32).fill(1),
    issuedS: 1000,
    expiresS: 2000,
  };

  test("may be for one node, and its document does not verify from another pin", () => {
    const { document, rootThk } = holdCeremony(ceremony);
    expect(verifyTrustRootChain({ documents: [document], pinnedRootThk: rootThk }, nodeCrypto).result).toBe("verified");
    const other = holdCeremony(ceremony);
    const judged = verifyTrustRootChain({ documents: [document], pinnedRootThk: other.rootThk }, nodeCrypto);
    expect(judged).toMatchObject({ result: "refused", code: "pin_mismatch" });
  });
});

describe("certificates", () => {
  const identity = { role: "node", clusterId: new Uint8Array(32).fill(7), id: "a" } as const;
  const urn = `urn:event-anchoring:${"07".repeat(32)}`;

  test("carry one URI, belong to their key and authority, and are no authorities", async () => {
    const authority = await createCertificateAuthority("local", NOW_MS);
    const issued = await issueCertificate(authority, identity, 3_600_000, NOW_MS);
    const certificate = new X509Certificate(issued.certificatePem);
    const ca = new X509Certificate(authority.certificatePem);
    expect(certificate.subjectAltName).toBe(`URI:${urn}:node:a`);
    expect(certificate.checkIssued(ca)).toBe(true);
    expect(certificate.verify(ca.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(issued.privateKeyPem))).toBe(true);
    expect([ca.ca, certificate.ca]).toEqual([true, false]);
    expect(expiryOf(issued.certificatePem)).toBe(NOW_MS + 3_600_000);
    expect(issued.expiresMs).toBe(NOW_MS + 3_600_000);
  });

  test("say what they may be used for: nodes listen and dial, api processes listen, operators dial", async () => {
    const authority = await createCertificateAuthority("local", NOW_MS);
    const usages: Record<string, string[] | undefined> = {};
    for (const role of ["node", "api", "operator"] as const) {
      const issued = await issueCertificate(authority, { ...identity, role }, 1000, NOW_MS);
      usages[role] = new X509Certificate(issued.certificatePem).keyUsage;
    }
    const [client, server] = ["1.3.6.1.5.5.7.3.2", "1.3.6.1.5.5.7.3.1"];
    expect(usages).toEqual({ node: [server, client], api: [server], operator: [client] });
  });

  test("never print their keys", async () => {
    const authority = await createCertificateAuthority("local", NOW_MS);
    const issued = await issueCertificate(authority, identity, 1000, NOW_MS);
    for (const each of [authority, issued]) {
      expect(each.privateKeyPem).toContain("PRIVATE KEY");
      expect(JSON.stringify(each)).not.toContain("PRIVATE KEY");
    }
  });

  test.each([
    ["an id that is none", { ...identity, id: "A" }, 1000],
    ["a cluster id that is too short", { ...identity, clusterId: new Uint8Array(31) }, 1000],
    ["no lifetime", identity, 0],
  ])("are not issued for %s", async (_what, asked, lifetimeMs) => {
    const authority = await createCertificateAuthority("local", NOW_MS);
    await expect(issueCertificate(authority, asked, lifetimeMs, NOW_MS)).rejects.toThrow(RangeError);
  });

  test("are renewed in place, with a new key", async () => {
    const { nodes } = await createCluster(plan());
    const [node] = nodes;
    const read = async (file: string): Promise<string> => readFile(join(node?.identityDir ?? "", file), "utf8");
    const before = [await read("tls.crt"), await read("tls.key")];
    const expiresMs = await renewTls({ outDir, nodeId: "a", lifetimeMs: 60_000, nowMs: NOW_MS + 5000 });
    expect(expiresMs).toBe(NOW_MS + 65_000);
    const certificate = await read("tls.crt");
    const key = await read("tls.key");
    expect([certificate, key]).not.toEqual(before);
    expect(key).not.toBe(before[1]);
    expect(new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))).toBe(true);
  });
});

describe("an operator's certificate", () => {
  test("lives an hour unless asked otherwise, and a day at most", async () => {
    const cluster = await createCluster(plan());
    const credential = await issueOperatorCertificate({ outDir, operatorId: "setup", nowMs: NOW_MS });
    expect(credential.expiresMs).toBe(NOW_MS + 3_600_000);
    expect(new X509Certificate(credential.certificatePem).subjectAltName).toBe(
      `URI:urn:event-anchoring:${cluster.clusterId}:operator:setup`,
    );
    expect(JSON.stringify(credential)).not.toContain("PRIVATE KEY");
    const tooLong = issueOperatorCertificate({ outDir, operatorId: "setup", lifetimeMs: OPERATOR_LIFETIME_MS_MAX + 1 });
    await expect(tooLong).rejects.toThrow(RangeError);
  });
});

describe("an API key", () => {
  test("is drawn with what makes it known, and shown only when asked for", () => {
    const key = drawApiKey({ label: "first", scopes: ["read"] });
    expect(parseApiKey(key.apiKey)).toHaveLength(32);
    expect(key.call).toMatchObject({ label: "first", scopes: ["read"], expiresMs: 0 });
    expect(key.keyId).toEqual(key.call.keyHash.subarray(0, 16));
    expect(JSON.stringify(key)).not.toContain(key.apiKey);
    expect(drawApiKey({ label: "first", scopes: ["read"] }).apiKey).not.toBe(key.apiKey);
  });

  test("carries the rate and the expiry it is given, for the API client it is given", () => {
    const apiClientId = new Uint8Array(16).fill(3);
    const key = drawApiKey({ label: "x", scopes: ["read"], apiClientId, expiresMs: 5, requestsPerSecond: 7 });
    expect(key.call).toMatchObject({ apiClientId, expiresMs: 5, requestsPerSecond: 7 });
    expect(drawApiKey({ label: "x", scopes: ["read"] }).call).toMatchObject({ expiresMs: 0, requestsPerSecond: 0 });
  });

  test("is replaced by one that is drawn anew, and shown only when asked for", () => {
    const keyId = new Uint8Array(16).fill(4);
    const key = drawReplacementApiKey({ keyId, overlapMs: 60_000 });
    const secret = parseApiKey(key.apiKey);
    if (secret === null) throw new Error("not a key");
    expect(key.call).toEqual({
      kind: "rotate_api_key",
      keyId,
      keyHash: apiKeyIdentity(secret, nodeCrypto.sha256).keyHash,
      overlapMs: 60_000,
      expiresMs: 0,
    });
    expect(key.keyId).toEqual(key.call.keyHash.subarray(0, 16));
    expect(JSON.stringify(key)).not.toContain(key.apiKey);
    expect(drawReplacementApiKey({ keyId, overlapMs: 0, expiresMs: 9 }).call).toMatchObject({
      overlapMs: 0,
      expiresMs: 9,
    });
  });

  test("is not made by whoever happens to listen there", async () => {
    await createCluster(plan({ nowMs: Date.now() }));
    const credential = await issueOperatorCertificate({ outDir, operatorId: "setup" });
    const key = drawApiKey({ label: "first", scopes: ["read"] });
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.resume().end("HTTP/1.1 200 OK\r\n\r\n");
    });
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const signer = await loadFirstOperator(outDir);
    const node = { nodeId: "a", host: "127.0.0.1", port, authPublicKey: new Uint8Array(32) };
    await expect(act({ credential, signer, node, call: key.call })).rejects.toMatchObject({ code: "connection_lost" });
    await new Promise((resolve) => void server.close(resolve));
    await expect(act({ credential, signer, node, call: key.call })).rejects.toMatchObject({
      code: "connection_refused",
    });
  });
});

describe("private files", () => {
  test("are refused when others can read them", async () => {
    await createCluster(plan());
    const path = join(outDir, "ca", "ca.key");
    await chmod(path, 0o640);
    await expect(loadCertificateAuthority(outDir)).rejects.toMatchObject({ code: "mode_too_wide", path });
    await chmod(join(outDir, "trust-root.txt"), 0o604);
    await expect(loadCluster(outDir)).rejects.toMatchObject({ code: "mode_too_wide" });
  });

  test.each(["", "ab".repeat(32), `${"ab".repeat(31)}\n`, `${"AB".repeat(32)}\n`, `${"ab".repeat(32)}\n\n`])(
    "hold no seed if they hold %j",
    async (text) => {
      const path = join(outDir, "..", "seed");
      await writeFile(path, text, { mode: 0o600 });
      await expect(readSeed(path)).rejects.toMatchObject({ code: "malformed" });
    },
  );

  test("are replaced whole, and leave nothing beside them", async () => {
    const path = join(outDir, "..", "file");
    await writePrivateFile(path, "one");
    await writePrivateFile(path, "two");
    expect(await readFile(path, "utf8")).toBe("two");
    expect((await readdir(join(outDir, ".."))).filter((name) => name.startsWith("file"))).toEqual(["file"]);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });
});
