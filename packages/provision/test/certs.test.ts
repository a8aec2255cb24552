import { X509Certificate, createHmac, pbkdf2Sync } from "node:crypto";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, compareBytes, formatTrustRootText, parseSignedTrustRoot } from "@event-anchoring/protocol";
import {
  certsCommand,
  createCertificateAuthority,
  loadCluster,
  readSeed,
  scramVerifier,
  spkiSha256Of,
  splitCertificates,
} from "../src/index.ts";
import type { CertsCommandName } from "../src/index.ts";

const NOW_MS = Date.UTC(2026, 10, 21);
const DAY_MS = 86_400_000;
let workingDir: string;
/** What the last command wrote. */
let said: { out: string; error: string };

beforeEach(async () => {
  workingDir = await mkdtemp(join(tmpdir(), "certs-"));
});
afterEach(async () => {
  await rm(workingDir, { recursive: true });
});

async function certs(line: string, nowMs = NOW_MS): Promise<number> {
  const [name = "", ...args] = line.split(" ");
  said = { out: "", error: "" };
  return certsCommand(name as CertsCommandName, args, {
    write: (text) => void (said.out += text),
    error: (text) => void (said.error += text),
    workingDir,
    nowMs,
  });
}

const at = (...names: string[]): string => join(workingDir, "deploy/.anchoring", ...names);
const text = (...names: string[]): Promise<string> => readFile(at(...names), "utf8");
const certificate = async (...names: string[]): Promise<X509Certificate> => new X509Certificate(await text(...names));
const pinOf = async (...names: string[]): Promise<string> => bytesToHex(spkiSha256Of(await text(...names)));

async function pins(): Promise<string[]> {
  return parseSignedTrustRoot(await text("trust-root.txt"), nodeCrypto.sha256).trustRoot.ca.map(bytesToHex);
}

describe("the ceremony", () => {
  test("makes all that docker-compose.yml mounts, readable by the account of the containers alone", async () => {
    expect(await certs("ceremony")).toBe(0);
    const { nodes, rootThk } = await loadCluster(at());
    expect(nodes.map(({ nodeId }) => nodeId)).toEqual(["n1", "n2", "n3"]);
    const entries = await readdir(at(), { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    for (const file of files) {
      const isOfPostgres = file.endsWith("/postgres/roles.sql");
      expect([file, (await stat(file)).mode & 0o777]).toEqual([file, isOfPostgres ? 0o644 : 0o600]);
    }
    expect(files.map((file) => file.slice(at().length + 1))).toEqual(
      expect.arrayContaining([
        ...["n1", "n2", "n3"].flatMap((id) =>
          ["control-plane/control-plane.json", "api/api.json", "postgres/roles.sql", "identity/tls.crt"].map(
            (name) => `nodes/${id}/${name}`,
          ),
        ),
        "root-keys/root-1.seed",
        "root-keys/root-2.seed",
        "root-keys/root-3.seed",
        "cluster.json",
        "gateway/served/tls.pem",
        "gateway/served/hosts.txt",
        "gateway/ca.crt",
        "ca/ca.key",
        "ca/next.key",
      ]),
    );
    const environment = await readFile(join(workingDir, ".env"), "utf8");
    expect(environment).toMatch(
      /^ANCHORING_UID=[1-9][0-9]*\nANCHORING_GID=[1-9][0-9]*\nANCHORING_DIR=\.\/deploy\/\.anchoring\n$/,
    );
    expect(environment).not.toMatch(/^ANCHORING_UID=0$/m);
    expect(said.out).toContain(rootThk);
    expect(said.out).toContain("docker compose up");
  });

  test("needs two of three root keys, and pins the CA and its successor", async () => {
    await certs("ceremony --name example.org/anchors");
    const { trustRoot } = parseSignedTrustRoot(await text("trust-root.txt"), nodeCrypto.sha256);
    expect(trustRoot.clusterName).toBe("example.org/anchors");
    expect([trustRoot.rootKeys.threshold, trustRoot.rootKeys.keys.length]).toEqual([2, 3]);
    expect((await pins()).toSorted()).toEqual([await pinOf("ca", "ca.crt"), await pinOf("ca", "next.crt")].toSorted());
  });

  test("gives the api process a role that is not the owner's, and no secret of the control plane", async () => {
    await certs("ceremony");
    const [api, controlPlane] = await Promise.all(
      ["api/api.json", "control-plane/control-plane.json"].map((name) => text("nodes/n1", name)),
    );
    const url = (config = ""): URL => new URL((JSON.parse(config) as { database_url: string }).database_url);
    expect(url(api).username).toBe("anchoring_reader");
    expect(url(controlPlane).username).toBe("anchoring_owner");
    expect(api).not.toContain(url(controlPlane).password);
    const roles = await text("nodes/n1/postgres/roles.sql");
    for (const config of [api, controlPlane]) expect(roles).not.toContain(url(config).password);
    expect(await text("nodes/n2/api/api.json")).not.toContain(url(api).password);
  });

  test("is not held over a cluster that is there", async () => {
    await certs("ceremony");
    const before = await text("trust-root.txt");
    expect(await certs("ceremony")).toBe(1);
    expect(said.error).toContain("there is a cluster already");
    expect(await text("trust-root.txt")).toBe(before);
  });

  test.each([
    ["2of3", 3, 2, "detects one lying node, excludes none"],
    ["3of5", 5, 3, "detects one lying node, excludes none"],
    ["3of4", 4, 3, "excludes 1 lying node"],
    ["4of5", 5, 4, "excludes 1 lying node"],
  ])("makes a cluster of shape %s, and says what that buys", async (shape, nodes, quorum, bought) => {
    expect(await certs(`ceremony --shape ${shape}`)).toBe(0);
    expect(said.out).toContain(bought);
    const { trustRoot } = parseSignedTrustRoot(await text("trust-root.txt"), nodeCrypto.sha256);
    expect([trustRoot.nodes.length, trustRoot.quorum]).toEqual([nodes, quorum]);
  });

  test("makes the first operator: its key is in version 1, and in a file of its own", async () => {
    await certs("ceremony");
    const { trustRoot } = parseSignedTrustRoot(await text("trust-root.txt"), nodeCrypto.sha256);
    const { publicKey } = createSigner(await readSeed(at("operators", "operator.key")));
    expect(trustRoot.operators.map(({ name, vkey }) => [name, vkey.publicKey])).toEqual([["operator", publicKey]]);
  });

  test("leaves what else is in the environment file", async () => {
    await writeFile(join(workingDir, ".env"), "COMPOSE_PROFILES=monitoring\nANCHORING_UID=7\n");
    await certs("ceremony");
    const environment = await readFile(join(workingDir, ".env"), "utf8");
    expect(environment).toContain("COMPOSE_PROFILES=monitoring\n");
    expect(environment.match(/ANCHORING_UID/g)).toHaveLength(1);
    expect(environment).not.toContain("ANCHORING_UID=7\n");
  });

  test.each([
    ["ceremony --host Example.org", "--host"],
    ["ceremony --shape 2of4", "--shape"],
    ["ceremony --host a/b", "--host"],
    ["ceremony --host -x.example", "--host"],
    ["ceremony --lifetime 90", "a lifetime is"],
    ["ceremony --lifetime 0d", "a lifetime is"],
    ["ceremony --lifetime 1y", "a lifetime is"],
    ["ceremony --what", "--what"],
    ["ceremony --uid -5", "--uid"],
    // Postgres in its container lets its superuser in by this number.
    ["ceremony --uid 999", "that of Postgres"],
    ["ceremony --uid 70", "that of Postgres"],
  ])("%s is wrong usage", async (line, mention) => {
    expect(await certs(line)).toBe(2);
    expect(said.error).toContain(mention);
    expect(await readdir(workingDir)).toEqual([]);
  });
});

describe("the gateway's certificate", () => {
  test("has the names it was asked for, and is not of the control plane's CA", async () => {
    await certs("ceremony --host anchors.example.org --host 192.0.2.7");
    const tls = await certificate("gateway/served/tls.pem");
    expect(tls.subjectAltName).toBe("DNS:anchors.example.org, IP Address:192.0.2.7");
    expect(tls.checkHost("anchors.example.org")).toBe("anchors.example.org");
    expect(tls.verify((await certificate("gateway", "ca.crt")).publicKey)).toBe(true);
    expect(tls.verify((await certificate("ca", "ca.crt")).publicKey)).toBe(false);
    expect(await text("gateway/served/hosts.txt")).toBe("anchors.example.org\n192.0.2.7\n");
  });

  test("is renewed for the same names by the same CA", async () => {
    await certs("ceremony --host anchors.example.org");
    const [before, ca] = [await certificate("gateway/served/tls.pem"), await text("gateway", "ca.crt")];
    expect(await certs("renew --gateway --lifetime 10d")).toBe(0);
    const after = await certificate("gateway/served/tls.pem");
    expect(after.serialNumber).not.toBe(before.serialNumber);
    expect(after.subjectAltName).toBe(before.subjectAltName);
    expect(await text("gateway", "ca.crt")).toBe(ca);
    expect(said.out).not.toContain("n1");
  });
});

describe("the certificate of an api process", () => {
  const names = "DNS:n1.api.internal, DNS:api.internal";
  const chain = async (): Promise<boolean> =>
    (await certificate("nodes/n1/api", "tls.crt")).verify((await certificate("ca", "ca.crt")).publicKey);

  test("is of the cluster's CA, for its URN and its host names, and a listener's alone", async () => {
    await certs("ceremony");
    const { clusterId } = await loadCluster(at());
    const tls = await certificate("nodes/n1/api", "tls.crt");
    expect(tls.subjectAltName).toBe(`URI:urn:event-anchoring:${clusterId}:api:n1, ${names}`);
    // serverAuth, and not clientAuth: no control plane takes it for anybody.
    expect(tls.keyUsage).toEqual(["1.3.6.1.5.5.7.3.1"]);
    expect(await chain()).toBe(true);
    expect(JSON.parse(await text("nodes/n1/api/api.json"))).toMatchObject({
      tls: { certificate: "/config/tls.crt", key: "/config/tls.key" },
    });
    expect(await text("gateway/served/nodes-ca.crt")).toBe(await text("ca/ca.crt"));
    const { nodes } = JSON.parse(await text("cluster.json")) as { nodes: { api_url: string }[] };
    expect(nodes[0]?.api_url).toBe("https://n1.api.internal:8080");
  });

  test("is renewed with the node's, and follows to another CA, as the gateway does", async () => {
    await certs("ceremony");
    const before = await text("nodes/n1/api/tls.crt");
    expect(await certs("renew n1")).toBe(0);
    expect(await text("nodes/n1/api/tls.crt")).not.toBe(before);
    await certs("authority trust");
    expect(splitCertificates(await text("gateway/served/nodes-ca.crt"))).toHaveLength(2);
    await certs("authority switch");
    expect(await chain()).toBe(false);
    await certs("renew");
    expect(await chain()).toBe(true);
    expect(await certs("authority forget")).toBe(0);
    expect(await text("gateway/served/nodes-ca.crt")).toBe(await text("ca/ca.crt"));
    expect(await certs("show")).toBe(0);
    expect(said.out).toContain("nodes/n1/api/tls.crt");
  });

  test("is asked for where the CA is elsewhere, and taken only with these names", async () => {
    await certs("ceremony");
    expect(await certs("request n1 --api")).toBe(0);
    const request = at("nodes/n1/api/tls.csr");
    expect(await certs(`issue api n1 --request ${request} --to ${at("for-n1")}`)).toBe(0);
    expect(await certs(`issue node n1 --request ${request} --to ${at("for-n2")}`)).toBe(1);
    expect(await certs(`install n1 ${at("nodes/n1/identity/tls.crt")} --api`)).toBe(1);
    expect(await certs(`install n1 ${at("for-n1/tls.crt")} --api`)).toBe(0);
    expect((await certificate("nodes/n1/api", "tls.crt")).subjectAltName).toContain(names);
  });
});

describe("renewing", () => {
  test("gives a node another key and the lifetime asked for, and touches no other", async () => {
    await certs("ceremony");
    const others = await text("nodes/n2/identity/tls.crt");
    const key = await text("nodes/n1/identity/tls.key");
    expect(await certs("renew n1 --lifetime 12h")).toBe(0);
    const renewed = await certificate("nodes/n1/identity/tls.crt");
    expect(Date.parse(renewed.validTo)).toBe(NOW_MS + DAY_MS / 2);
    expect(await text("nodes/n1/identity/tls.key")).not.toBe(key);
    expect(await text("nodes/n2/identity/tls.crt")).toBe(others);
  });

  test.each([
    ["renew n9", 2, "no node n9"],
    ["renew --lifetime 1", 2, "a lifetime is"],
    ["issue operator", 2, "Usage"],
    ["issue king alice", 2, "Usage"],
    ["issue operator alice bob", 2, "Usage"],
    ["issue operator alice --lifetime 25h", 2, "24h at most"],
    ["issue operator Alice", 1, "not a node or operator id"],
    ["authority", 2, "Usage"],
    ["authority sideways", 2, "Usage"],
    ["request n9", 2, "no node n9"],
    ["install n1", 2, "Usage"],
  ])("%s ends with %i", async (line, code, mention) => {
    await certs("ceremony");
    expect(await certs(line)).toBe(code);
    expect(said.error).toContain(mention);
  });

  test("without the CA's key says which file is missing", async () => {
    await certs("ceremony");
    await rm(at("ca", "ca.key"));
    expect(await certs("renew n1")).toBe(1);
    expect(said.error).toContain("ca.key");
  });

  test("an operator's certificate is of the CA, for hours, and in files of its own", async () => {
    await certs("ceremony");
    expect(await certs("issue operator alice")).toBe(0);
    const issued = await certificate("issued/operator-alice/tls.crt");
    const { clusterId } = await loadCluster(at());
    expect(issued.subjectAltName).toBe(`URI:urn:event-anchoring:${clusterId}:operator:alice`);
    expect(Date.parse(issued.validTo)).toBe(NOW_MS + DAY_MS / 3);
    expect((await stat(at("issued/operator-alice/tls.key"))).mode & 0o777).toBe(0o600);
  });
});

describe("what is shown", () => {
  test("names every certificate, and is good while none expires soon", async () => {
    await certs("ceremony");
    expect(await certs("show")).toBe(0);
    expect(said.out.match(/nodes\/n[123]\/identity\/tls\.crt/g)).toHaveLength(3);
    expect(said.out).toContain("next.crt");
  });

  test.each([
    ["a certificate that expires soon", 80 * DAY_MS, ""],
    ["one that has expired", 91 * DAY_MS, "expired"],
  ])("is not good with %s", async (_what, laterMs, mention) => {
    await certs("ceremony");
    expect(await certs("show", NOW_MS + laterMs)).toBe(1);
    expect(said.out).toContain(mention);
    expect(said.out).toContain("✗ nodes/n1/identity/tls.crt");
  });

  test("is not good with a CA that the trust root does not pin", async () => {
    await certs("ceremony");
    const stranger = await createCertificateAuthority("stranger", NOW_MS);
    await writeFile(at("nodes/n2/identity/ca.crt"), stranger.certificatePem);
    expect(await certs("show")).toBe(1);
    expect(said.out).toMatch(/✗ nodes\/n2\/identity\/ca\.crt .*NOT PINNED/);
  });
});

describe("the successor of the CA", () => {
  test("takes its place in three steps", async () => {
    await certs("ceremony");
    const [first, second] = await Promise.all(["ca.crt", "next.crt"].map((name) => text("ca", name)));
    expect(await certs("authority trust")).toBe(0);
    expect(await text("nodes/n3/identity/ca.crt")).toBe(`${first}${second}`);
    expect(await certs("authority switch")).toBe(0);
    expect(await certs("renew")).toBe(0);
    expect(await certs("authority forget")).toBe(0);
    for (const id of ["n1", "n2", "n3"]) {
      expect(await text("nodes", id, "identity/ca.crt")).toBe(second);
      const tls = await certificate("nodes", id, "identity/tls.crt");
      expect(tls.verify(new X509Certificate(second ?? "").publicKey)).toBe(true);
    }
    expect((await readdir(at("ca"))).toSorted()).toEqual(["ca.crt", "ca.key"]);
    expect(await certs("show")).toBe(0);
  });

  test.each([
    ["switch", "n1 does not trust the next CA yet"],
    ["forget", "take step 2 first"],
    ["new", "there is a next CA already"],
  ])("%s is refused before its turn", async (step, mention) => {
    await certs("ceremony");
    expect(await certs(`authority ${step}`)).toBe(1);
    expect(said.error).toContain(mention);
  });

  test("is not left by its predecessor while a node still shows a certificate of that", async () => {
    await certs("ceremony");
    await certs("authority trust");
    await certs("authority switch");
    await certs("renew n1");
    expect(await certs("authority forget")).toBe(1);
    expect(said.error).toContain("n2");
    expect(splitCertificates(await text("nodes/n1/identity/ca.crt"))).toHaveLength(2);
  });

  test("is refused while no trust root pins it", async () => {
    await certs("ceremony");
    await Promise.all(["crt", "key"].map((ending) => rm(at("ca", `next.${ending}`))));
    expect(await certs("authority trust")).toBe(1);
    expect(said.error).toContain("there is no next CA");
    expect(await certs("authority new")).toBe(0);
    expect(said.out).toContain(await pinOf("ca", "next.crt"));
    expect(await certs("authority trust")).toBe(1);
    expect(said.error).toContain("does not pin");
    expect(splitCertificates(await text("nodes/n1/identity/ca.crt"))).toHaveLength(1);
  });

  test("is trusted once a later trust root beside the first one pins it", async () => {
    await certs("ceremony");
    await Promise.all(["crt", "key"].map((ending) => rm(at("ca", `next.${ending}`))));
    await certs("authority new");
    const note = await text("trust-root.txt");
    const { trustRoot, rootThk: previous } = parseSignedTrustRoot(note, nodeCrypto.sha256);
    const pin = spkiSha256Of(await text("ca", "next.crt"));
    const ca = [...trustRoot.ca.slice(1), pin].toSorted(compareBytes);
    // The folder's owner vouches for what is in it; here only the text counts, as the nodes judge for themselves.
    const signatures = note.slice(note.indexOf("\n\n") + 1);
    const later = formatTrustRootText({ ...trustRoot, version: 2, previous, ca }) + signatures;
    await writeFile(at("trust-root-2.txt"), later, { mode: 0o600 });
    expect(await certs("authority trust")).toBe(0);
    expect(splitCertificates(await text("nodes/n1/identity/ca.crt"))).toHaveLength(2);
  });
});

describe("a CA of somebody else", () => {
  const CONFIG = "[ca]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n";

  function openssl(...args: string[]): void {
    execFileSync("openssl", args, { cwd: workingDir, stdio: "pipe" });
  }

  beforeEach(async () => {
    await writeFile(join(workingDir, "ca.cnf"), CONFIG);
    openssl(..."ecparam -name prime256v1 -genkey -noout -out own.key".split(" "));
    openssl(..."req -new -key own.key -subj /CN=ours -out own.csr".split(" "));
    openssl(
      ..."x509 -req -in own.csr -signkey own.key -days 3650 -extfile ca.cnf -extensions ca -out own.pem".split(" "),
    );
    await certs("ceremony --ca own.pem");
  });

  function issue(nodeId: string, extra: readonly string[] = ["-copy_extensions", "copy"]): string {
    const csr = at("nodes", nodeId, "identity/tls.csr");
    const out = join(workingDir, `${nodeId}.crt`);
    openssl("x509", "-req", "-in", csr, "-CA", "own.pem", "-CAkey", "own.key", "-days", "30", "-out", out, ...extra);
    return out;
  }

  test("is pinned, issues from the requests, and the nodes' certificates are taken", async () => {
    expect(await pins()).toEqual([bytesToHex(spkiSha256Of(await readFile(join(workingDir, "own.pem"), "utf8")))]);
    expect(await readdir(at("ca"))).toEqual(["ca.crt"]);
    expect(await readdir(at("nodes/n1/identity"))).not.toContain("tls.crt");
    for (const id of ["n1", "n2", "n3"]) expect(await certs(`install ${id} ${issue(id)}`)).toBe(0);
    const { clusterId } = await loadCluster(at());
    expect((await certificate("nodes/n2/identity/tls.crt")).subjectAltName).toBe(
      `URI:urn:event-anchoring:${clusterId}:node:n2`,
    );
    expect(await readdir(at("nodes/n2/identity"))).not.toContain("tls.csr");
    expect(await certs("show", Date.now())).toBe(0);
  });

  test("renews: what is in use stays until the new certificate is there", async () => {
    await certs(`install n1 ${issue("n1")}`);
    const [crt, key] = [await text("nodes/n1/identity/tls.crt"), await text("nodes/n1/identity/tls.key")];
    expect(await certs("request n1")).toBe(0);
    expect(await text("nodes/n1/identity/tls.key")).toBe(key);
    expect(await certs(`install n1 ${issue("n1")}`)).toBe(0);
    expect(await text("nodes/n1/identity/tls.crt")).not.toBe(crt);
  });

  test("a certificate of another node, without the URI, of another CA, or no certificate is refused", async () => {
    expect(await certs(`install n1 ${issue("n2")}`)).toBe(1);
    expect(said.error).toContain("another key");
    expect(await certs(`install n1 ${issue("n1", [])}`)).toBe(1);
    expect(said.error).toContain("its names must be URI:");
    openssl(..."req -x509 -new -key own.key -subj /CN=theirs -days 9 -out theirs.pem".split(" "));
    const csr = at("nodes/n1/identity/tls.csr");
    openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "theirs.key");
    openssl(..."req -x509 -new -key theirs.key -subj /CN=theirs -days 9 -out theirs.pem".split(" "));
    openssl(
      "x509",
      "-req",
      "-in",
      csr,
      "-CA",
      "theirs.pem",
      "-CAkey",
      "theirs.key",
      "-copy_extensions",
      "copy",
      "-out",
      "t.crt",
    );
    expect(await certs("install n1 t.crt")).toBe(1);
    expect(said.error).toContain("none of the CAs");
    await writeFile(join(workingDir, "no.crt"), "nothing");
    expect(await certs("install n1 no.crt")).toBe(1);
    expect(said.error).toContain("no certificate in PEM");
    expect(await readdir(at("nodes/n1/identity"))).not.toContain("tls.crt");
  });

  test("a file without a certificate is wrong usage", async () => {
    expect(await certs("ceremony --ca own.key --out elsewhere")).toBe(2);
    expect(said.error).toContain("no certificate in PEM");
  });
});

describe("what Postgres is given of a password", () => {
  test("lets in who knows it: RFC 5802, checked by its own equations", () => {
    const verifier = scramVerifier("a password".replace(" ", "-"), Buffer.alloc(16, 7));
    const [, iterations, salt = "", stored, server] =
      /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/.exec(verifier) ?? [];
    const salted = pbkdf2Sync("a-password", Buffer.from(salt, "base64"), Number(iterations), 32, "sha256");
    const clientKey = createHmac("sha256", salted).update("Client Key").digest();
    expect(Buffer.from(nodeCrypto.sha256(clientKey)).toString("base64")).toBe(stored);
    expect(createHmac("sha256", salted).update("Server Key").digest("base64")).toBe(server);
  });

  test.each(["", "with space", "grün", "line\n"])("%j is no password for it", (password) => {
    expect(() => scramVerifier(password)).toThrow(RangeError);
  });
});
