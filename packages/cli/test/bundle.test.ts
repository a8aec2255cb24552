import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, anchorIdOf, base64ToBytes, bytesToHex, decodeLeaf, isZero } from "@event-anchoring/protocol";
import type { GrantLeaf, Leaf } from "@event-anchoring/protocol";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

interface BundleFile {
  readonly subject: string;
  readonly as_of: { readonly sequence: number; readonly time_ms: number };
  readonly trust_roots: readonly string[];
  readonly checkpoints: readonly string[];
  readonly ranges: readonly {
    readonly checkpoint: number;
    readonly from: number;
    readonly leaves: readonly string[];
  }[];
}

interface Case {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly of?: string;
  readonly bundle?: BundleFile;
  readonly outcome: string;
}

const VECTORS = JSON.parse(readFileSync(new URL("../../../test/vectors/bundle.json", import.meta.url), "utf8")) as {
  readonly good: readonly Case[];
  readonly bundles: Readonly<Record<string, BundleFile>>;
};

function vector(name: string): BundleFile {
  const found = VECTORS.good.find((it) => it.name === name);
  const bundle = found?.bundle ?? VECTORS.bundles[found?.of ?? ""];
  if (bundle === undefined) throw new Error(`no vector ${name}`);
  return bundle;
}

const { sha256 } = nodeCrypto;
const SCOPED = JSON.parse(
  readFileSync(new URL("../../../test/vectors/bundle-scope.json", import.meta.url), "utf8"),
) as {
  readonly good: readonly {
    readonly name: string;
    readonly bundle?: BundleFile & { readonly scopes: readonly object[] };
  }[];
};
const scoped = SCOPED.good.find(({ name }) => name === "scopes: with every leaf")?.bundle;
if (scoped === undefined) throw new Error("no vector with every leaf and a scope");
const fromGenesis = vector("ranges from genesis on").ranges;
/** Every leaf of three origins: a small ledger, in which a grant is of a scope document. */
const LEDGER: BundleFile = {
  ...scoped,
  ranges: scoped.ranges.map((range, at) => {
    const genesis = fromGenesis[at]?.leaves.slice(0, range.from) ?? [];
    return { ...range, from: 0, leaves: [...genesis, ...range.leaves] };
  }),
};
const [DISCLOSURE] = scoped.scopes;
const LEDGER_PIN = VECTORS.good[0]?.pinned_root_thk ?? "";

interface Row {
  readonly id: string;
  readonly leaf: Leaf;
  readonly bytes: Uint8Array;
}

const ROWS: readonly Row[] = LEDGER.ranges.flatMap(({ leaves }) =>
  leaves.map((text) => {
    const bytes = base64ToBytes(text);
    return { bytes, leaf: decodeLeaf(bytes), id: bytesToHex(anchorIdOf(bytes, sha256)) };
  }),
);
const rowOf = (id: string): Row => {
  const row = ROWS.find((it) => it.id === id);
  if (row === undefined) throw new Error(`no leaf ${id}`);
  return row;
};

function anchorOf({ id, leaf }: Row): object {
  const kind = leaf.kind === LEAF_KIND.claim ? "claim" : leaf.kind === LEAF_KIND.grant ? "grant" : "signed_event";
  return {
    anchor_id: id,
    kind,
    sequence: leaf.sequence,
    depth: leaf.depth,
    origin_fingerprint: bytesToHex(leaf.originFingerprint),
    ...(leaf.kind === LEAF_KIND.claim
      ? { entity_fingerprint: bytesToHex(leaf.entityFingerprint), attribute_type: leaf.attributeType }
      : {}),
  };
}

/** What GET …/trace answers for the ledger's signed event: nobody has revoked anything. */
function trace(sequence: number): object {
  const subject = rowOf(LEDGER.subject);
  const { leaf } = subject;
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) throw new Error("the subject is an event");
  const hops: object[] = [];
  for (let ref = leaf.semanticAnchor.grantRef; !isZero(ref);) {
    const row = rowOf(bytesToHex(ref));
    const grant = row.leaf as GrantLeaf;
    hops.push({
      grant: anchorOf(row),
      grantor_claim: anchorOf(rowOf(bytesToHex(grant.grantorClaimRef))),
      grantee_claim: anchorOf(rowOf(bytesToHex(grant.granteeClaimRef))),
    });
    ref = grant.parentGrantRef;
  }
  const claim = rowOf(bytesToHex(leaf.semanticAnchor.irisRef));
  const timeMs = ROWS.find((row) => row.leaf.sequence === sequence)?.leaf.acceptedMs ?? 0;
  return {
    anchor: anchorOf(subject),
    as_of: { sequence, time_ms: timeMs, time: new Date(timeMs).toISOString() },
    actor_proven: true,
    authorised_at_action: true,
    authorised_now: true,
    suspect: false,
    actor: { claim: anchorOf(claim), state: "active", actor_signature: "pass" },
    delegation: hops,
    delegation_omitted: 0,
    revocations: [],
    violations: [],
    references: [{ field: "iris_ref", anchor_id: claim.id, exists: true, kind: "claim" }],
  };
}

function tile(origin: string, path: string): Uint8Array | null {
  const leaves =
    LEDGER.ranges.find((range) => (LEDGER.checkpoints[range.checkpoint] ?? "").includes(origin))?.leaves ?? [];
  const rows = leaves.map((text) => base64ToBytes(text));
  const [, width = "256"] = /\.p\/(\d+)$/u.exec(path) ?? [];
  if (Number(width) !== rows.length) return null;
  if (path.startsWith("tile/entries/000")) {
    return Buffer.concat(rows.flatMap((row) => [Buffer.from([row.length >> 8, row.length & 255]), row]));
  }
  if (path.startsWith("tile/0/000")) return Buffer.concat(rows.map((row) => anchorIdOf(row, sha256)));
  return null;
}

let home: string;
let server: Server;
let tamper: (path: string, bytes: Uint8Array) => Uint8Array;

function answer(path: string, query: URLSearchParams): object | Uint8Array | null {
  const [, origin = "", rest = ""] = /^\/v1\/origins\/([0-9a-f]{64})\/(.*)$/u.exec(path) ?? [];
  if (rest === "checkpoint") {
    return Buffer.from(LEDGER.checkpoints.find((note) => note.includes(origin)) ?? "", "utf8");
  }
  if (rest !== "") return tile(origin, rest);
  if (path === "/v1/trust-root") {
    return { chain: LEDGER.trust_roots.map((document, at) => ({ version: at + 1, document })) };
  }
  if (path === "/v1/claim-anchors") {
    const claims = ROWS.filter(
      ({ leaf }) =>
        leaf.kind === LEAF_KIND.claim && bytesToHex(leaf.entityFingerprint) === query.get("entity_fingerprint"),
    );
    const newest = claims.toSorted((a, b) => b.leaf.sequence - a.leaf.sequence)[0];
    return newest === undefined ? null : { anchor: anchorOf(newest), state: "active" };
  }
  const [, id = "", tail] = /^\/v1\/event-anchors\/([0-9a-f]{64})(\/trace)?$/u.exec(path) ?? [];
  if (id === "") return null;
  return tail === undefined
    ? { anchor: anchorOf(rowOf(id)) }
    : trace(Number(query.get("as_of") ?? LEDGER.as_of.sequence));
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-bundle-"));
  tamper = (_path, bytes) => bytes;
  server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    const found = answer(pathname, searchParams);
    if (found === null) {
      response.writeHead(404).end(JSON.stringify({ code: "route_not_found", detail: pathname }));
      return;
    }
    response.end(found instanceof Uint8Array ? tamper(pathname, found) : JSON.stringify(found));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  writeFileSync(join(home, "trust-root.txt"), LEDGER.trust_roots[0] ?? "");
  writeFileSync(join(home, "root-thk.txt"), LEDGER_PIN);
});

afterEach(() => {
  server.close();
  server.closeAllConnections();
  rmSync(home, { recursive: true, force: true });
});

const out = (): string => join(home, "act.bundle.json");
const trust = (): readonly string[] => ["--trust-root", join(home, "trust-root.txt")];

function bundle(...args: readonly string[]): Promise<Run> {
  const apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const all = ["bundle", LEDGER.subject, "--out", out(), "--api-url", apiUrl, ...trust(), ...args];
  return runAnchorctl(home, all, { ANCHORCTL_API_KEY: "ank_test" });
}

const verify = (...args: readonly string[]): Promise<Run> => runAnchorctl(home, ["verify", out(), ...trust(), ...args]);

/** Flips a bit of the last byte. */
function flipped(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, at) => (at === bytes.length - 1 ? byte ^ 1 : byte));
}

describe("without a pin", () => {
  test("a bundle that goes together is not shown as good, and verify says what to compare", async () => {
    expect((await bundle()).exitCode).toBe(0);
    rmSync(join(home, "root-thk.txt"));
    const { exitCode, stdout } = await verify();
    expect(exitCode).toBe(6);
    expect(stdout).toMatch(/^NOT PINNED: /mu);
    expect(stdout).toContain(`compare the RootTHK of trust root 1, ${LEDGER_PIN}, with`);
    expect(stdout).not.toMatch(/✓|(?<!AS )\bVALID\b|pinned one/u);
    const programs = await verify("--json");
    expect([programs.exitCode, JSON.parse(programs.stdout)]).toEqual([
      6,
      expect.objectContaining({
        outcome: "not_pinned",
        valid: false,
        failure: "not_pinned",
        pin: { source: null, path: null, root_thk: LEDGER_PIN },
      }),
    ]);
  });

  test("a bundle with something wrong in it is not valid, which says more", async () => {
    await bundle();
    rmSync(join(home, "root-thk.txt"));
    expect((await verify("--anchor-id", "00".repeat(32))).exitCode).toBe(1);
  });
});

describe("anchorctl bundle", () => {
  test("fetches all that a trace needs, and verify judges it without anybody", async () => {
    const { exitCode, stdout } = await bundle("--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ outcome: "valid", authorised_at_action: true, authorised_now: true });
    server.close();
    const judged = await verify();
    expect([judged.exitCode, judged.stderr]).toEqual([0, ""]);
    expect(judged.stdout).toMatch(/^VALID: every check is proved/mu);
    expect((await verify("--anchor-id", LEDGER.subject)).exitCode).toBe(0);
  });

  test("takes disclosures of scopes: of a grant on the way, or nothing is written", async () => {
    const file = join(home, "disclosed.scope.json");
    writeFileSync(file, JSON.stringify(DISCLOSURE));
    expect((await bundle("--scope", file)).exitCode).toBe(0);
    expect(JSON.parse(readFileSync(out(), "utf8"))).toMatchObject({ scopes: [DISCLOSURE] });
    expect((await verify()).stdout).toContain("2 statements disclosed, 3 withheld");
    rmSync(out());
    const [statements, other] = [join(home, "statements.json"), join(home, "other.scope.json")];
    writeFileSync(statements, JSON.stringify({ actions: ["refund"] }));
    expect((await runAnchorctl(home, ["scope", "make", statements, "--out", other])).exitCode).toBe(0);
    const { exitCode, stdout } = await bundle("--scope", other);
    expect([exitCode, existsSync(out())]).toEqual([1, false]);
    expect(stdout).toContain("Nothing was written: a disclosure is not of a grant on the way.");
  });

  test("is shown with names of its subject and grants, and what statements mean; judged as without", async () => {
    const [file, names] = [join(home, "disclosed.scope.json"), join(home, "names.txt")];
    writeFileSync(file, JSON.stringify(DISCLOSURE));
    await bundle("--scope", file);
    const plain = await verify();
    const [, grant = ""] = /of grant ([0-9a-f]{12})…/u.exec(plain.stdout) ?? [];
    const granted = (
      JSON.parse((await verify("--json")).stdout) as { scopes: readonly { grants: readonly string[] }[] }
    ).scopes[0]?.grants[0];
    expect(granted?.startsWith(grant)).toBe(true);
    const named = [`${LEDGER.subject} the refund`, `${granted ?? ""} of Marie`, "scope max_amount most of one refund"];
    writeFileSync(names, `${["# names", ...named].join("\n")}\n`);
    const { exitCode, stdout } = await verify("--names", names);
    expect(exitCode).toBe(plain.exitCode);
    expect(stdout.split("\n")[0]).toBe(`${out()}  ${LEDGER.subject}  the refund`);
    expect(stdout).toContain(`of grant of Marie ${grant}…: `);
    expect(stdout).toMatch(/max_amount: \d+ \(most of one refund\)\n/u);
    const without = stdout.replace("  the refund", "").replace("of Marie ", "").replace(" (most of one refund)", "");
    expect(without).toBe(plain.stdout);
  });

  test("is not made for witnesses by a trust root that lists none", async () => {
    const { exitCode, stderr } = await bundle("--witnessed");
    expect([exitCode, existsSync(out())]).toEqual([1, false]);
    expect(stderr).toContain("lists no witness; anchorctl root fetch updates it");
  });

  test("is smaller on request, and then says what rests on the service's word", async () => {
    expect((await bundle("--small")).exitCode).toBe(0);
    const { exitCode, stdout } = await verify();
    expect(exitCode).toBe(5);
    expect(stdout).toMatch(/^VALID AS STATED: /mu);
    expect(stdout).not.toMatch(/^VALID: /mu);
    expect(JSON.parse((await verify("--json")).stdout)).toMatchObject({ valid: false, outcome: "valid_as_stated" });
  });

  test.each([
    ["an altered leaf", "tile/entries/", flipped],
    ["an altered hash", "tile/0/", flipped],
    ["a tile without its last hash", "tile/0/", (bytes: Uint8Array) => bytes.slice(0, -32)],
    ["an empty tile", "tile/0/", () => new Uint8Array(0)],
    ["a tile of entries with half a leaf", "tile/entries/", (bytes: Uint8Array) => bytes.slice(0, -1)],
    [
      "an altered checkpoint",
      "checkpoint",
      (bytes: Uint8Array) => Buffer.from(Buffer.from(bytes).toString().replace("\n4\n", "\n3\n")),
    ],
  ])("writes nothing after %s", async (_title, where, alter) => {
    tamper = (path, bytes) => (path.includes(where) ? alter(bytes) : bytes);
    const { exitCode } = await bundle("--small");
    expect([exitCode === 1 || exitCode === 4, existsSync(out())]).toEqual([true, false]);
  });

  test.each([
    ["another anchor than asked about", ["--anchor-id", "ab".repeat(32)], 1],
    ["an anchor id that is none", ["--anchor-id", "x"], 2],
    ["another pin", ["--root-thk", "ab".repeat(32)], 1],
  ])("verify refuses %s", async (_title, args, exitCode) => {
    await bundle();
    expect((await verify(...args)).exitCode).toBe(exitCode);
  });

  test("verify refuses another event, and bytes that were altered", async () => {
    await bundle();
    writeFileSync(join(home, "act"), "another act");
    const other = await runAnchorctl(home, ["verify", join(home, "act"), "--bundle", out(), ...trust()]);
    expect([other.exitCode, other.stdout]).toEqual([1, expect.stringContaining("NOT VALID (subject)")]);
    const text = readFileSync(out(), "utf8");
    const leaf = /"leaves":\["([^"]+)"/u.exec(text)?.[1] ?? "";
    writeFileSync(out(), text.replace(leaf, `${leaf.slice(0, 100)}${leaf[100] === "A" ? "B" : "A"}${leaf.slice(101)}`));
    expect((await verify("--bundle", out())).exitCode).toBe(1);
    writeFileSync(out(), text.slice(0, -10));
    expect((await verify("--json")).stdout).toContain("bundle_json_invalid");
  });
});
