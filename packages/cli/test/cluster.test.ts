import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { startTestCluster } from "@event-anchoring/testkit/cluster";
import { CrosscheckProcess, availableSdks } from "@event-anchoring/testkit/sdks";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { FileServer } from "./file-server.ts";
import { LyingNode, anotherTree } from "./real-cluster.ts";
import { runAnchorctl } from "./run-anchorctl.ts";
import type { Run } from "./run-anchorctl.ts";

// anchorctl against a real cluster: chains are made, bundled and judged by everybody who can; heads are watched.

const { sdks, missing } = availableSdks();
for (const reason of missing) process.stderr.write(`packages/cli/test/cluster.test.ts goes without ${reason}\n`);

let setup: TestCluster;
/** A folder of a reader who has nothing but files. */
let home: string;
let trustRoot: string;

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-cluster-"));
  setup = await startTestCluster();
  trustRoot = join(home, "trust-root.txt");
  for (const name of ["trust-root.txt", "root-thk.txt"]) copyFileSync(join(setup.cluster.root, name), join(home, name));
}, 120_000);

afterAll(async () => {
  rmSync(home, { recursive: true, force: true });
  await setup.cluster.erase();
}, 60_000);

type Json = Readonly<Record<string, unknown>>;

const online = (...args: readonly string[]): Promise<Run> =>
  runAnchorctl(home, [...args, "--cluster", setup.cluster.root, "--timeout", "120"]);

/** What a command that must succeed says to programs. */
async function answerOf(...args: readonly string[]): Promise<Json> {
  const { exitCode, stdout, stderr } = await online(...args, "--json");
  if (exitCode !== 0) throw new Error(`${args.join(" ")} ended with ${exitCode}: ${stdout}${stderr}`);
  return JSON.parse(stdout) as Json;
}

const idOf = async (...args: readonly string[]): Promise<string> => String((await answerOf(...args))["anchor_id"]);

const path = (name: string): string => join(home, name);

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

/** Judged by somebody who asks nobody. */
async function verify(bundle: string, ...args: readonly string[]): Promise<{ exitCode: number; answer: Json }> {
  const { exitCode, stdout } = await runAnchorctl(home, [
    "verify",
    "--bundle",
    bundle,
    "--trust-root",
    trustRoot,
    "--json",
    ...args,
  ]);
  return { exitCode, answer: JSON.parse(stdout) as Json };
}

/** Sentences of every SDK that this machine has on a bundle. */
async function crosschecked(text: string, expect: Json = {}): Promise<readonly Json[]> {
  const running = sdks.map((command) => new CrosscheckProcess(command));
  const pinned = readFileSync(join(setup.cluster.root, "root-thk.txt"), "utf8").trim();
  try {
    return await Promise.all(
      running.map((sdk) => sdk.want({ op: "verify_bundle", bundle: text, pinned_root_thk: pinned, expect })),
    );
  } finally {
    for (const sdk of running) sdk.end();
  }
}

describe("the demo's chain", () => {
  let demo: Readonly<Record<"first_act" | "second_act", { readonly anchor_id: string }>>;
  let bundle: string;

  beforeAll(async () => {
    demo = (await answerOf("demo")) as typeof demo;
    bundle = path("second.bundle.json");
    await answerOf("bundle", demo.second_act.anchor_id, "--out", bundle);
  }, 120_000);

  test("is bundled, and valid to anchorctl and every SDK, with the same verdicts", async () => {
    const first = path("first.bundle.json");
    expect((await online("bundle", demo.first_act.anchor_id, "--out", first)).stdout).toContain(
      "VALID: every check is proved",
    );
    const shown = [
      [first, demo.first_act, true],
      [bundle, demo.second_act, false],
    ] as const;
    for (const [file, { anchor_id: anchorId }, isAuthorised] of shown) {
      const verdicts = { authorised_at_action: isAuthorised, authorised_now: false };
      const { exitCode, answer } = await verify(file, "--anchor-id", anchorId);
      expect([exitCode, answer]).toMatchObject([0, { outcome: "valid", subject: anchorId, ...verdicts }]);
      for (const said of await crosschecked(readFileSync(file, "utf8"), { anchor_id: anchorId })) {
        expect(said).toMatchObject({ outcome: "valid", fails: null, not_checked: [], ...verdicts });
      }
    }
  }, 120_000);

  test("is proved by a state head as well, after the revocation, to the same verdicts of all", async () => {
    const shown = [
      ["first", demo.first_act, true],
      ["second", demo.second_act, false],
    ] as const;
    for (const [name, { anchor_id: anchorId }, isAuthorised] of shown) {
      const file = path(`${name}-proof.bundle.json`);
      const verdicts = { authorised_at_action: isAuthorised, authorised_now: false };
      expect(await answerOf("trace", anchorId, "--proof", file)).toMatchObject(verdicts);
      const { exitCode, answer } = await verify(file, "--anchor-id", anchorId);
      expect([exitCode, answer]).toMatchObject([0, { outcome: "valid", subject: anchorId, ...verdicts }]);
      for (const said of await crosschecked(readFileSync(file, "utf8"), { anchor_id: anchorId })) {
        expect(said).toMatchObject({ outcome: "valid", fails: null, not_checked: [], ...verdicts });
      }
    }
  }, 120_000);

  test("is about what it is about: another anchor, and another file, are refused", async () => {
    const other = await verify(bundle, "--anchor-id", demo.first_act.anchor_id);
    expect([other.exitCode, other.answer]).toMatchObject([1, { outcome: "invalid", failure: "subject" }]);
    writeFileSync(path("else.txt"), "something else");
    const { exitCode, stdout } = await runAnchorctl(home, [
      "verify",
      path("else.txt"),
      "--bundle",
      bundle,
      "--trust-root",
      trustRoot,
    ]);
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("NOT VALID (subject)")]);
  });

  test("small, it rests on the word of the service: exit 5, in every SDK as stated", async () => {
    const small = path("small.bundle.json");
    const made = await online("bundle", demo.second_act.anchor_id, "--out", small, "--small");
    expect([made.exitCode, made.stdout]).toEqual([0, expect.stringContaining("VALID AS STATED")]);
    const { exitCode, answer } = await verify(small);
    expect([exitCode, answer]).toMatchObject([5, { outcome: "valid_as_stated", valid: false }]);
    for (const said of await crosschecked(readFileSync(small, "utf8"))) {
      expect(said).toMatchObject({ outcome: "valid_as_stated", fails: null });
    }
  }, 120_000);

  test("nothing of it can be changed: every value of the file, one after the other", async () => {
    const whole = JSON.parse(readFileSync(bundle, "utf8")) as Json;
    const file = path("altered.bundle.json");
    const survivors: string[] = [];
    const places = [...valuesOf(whole, "")].filter((place) => !place.startsWith("/stated/") || isCompared(place));
    expect(places.length).toBeGreaterThan(20);
    for (const place of places) {
      writeFileSync(file, JSON.stringify(altered(whole, place)));
      const { exitCode } = await verify(file);
      if (exitCode !== 1) survivors.push(`${place}: ${exitCode}`);
    }
    expect(survivors).toEqual([]);
  }, 120_000);

  test("nothing of it can be left out", async () => {
    const whole = JSON.parse(readFileSync(bundle, "utf8")) as Json;
    const file = path("cut.bundle.json");
    for (const name of ["trust_roots", "checkpoints", "leaves", "ranges"]) {
      writeFileSync(file, JSON.stringify({ ...whole, [name]: [] }));
      expect([name, (await verify(file)).exitCode]).toEqual([name, 1]);
    }
    const text = readFileSync(bundle, "utf8");
    for (const cut of ["", text.slice(0, -2), `${text}x`, text.replace("{", '{"format":"x",')]) {
      writeFileSync(file, cut);
      expect((await verify(file)).exitCode).toBe(1);
    }
  });
});

/** JSON pointers of all texts and numbers. */
function* valuesOf(value: unknown, at: string): Generator<string> {
  if (typeof value === "string" || typeof value === "number") yield at;
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) yield* valuesOf(member, `${at}/${name}`);
}

/** What a verifier compares of what the service stated. */
function isCompared(place: string): boolean {
  return /^\/stated\/(?:anchor\/anchor_id|as_of\/(?:sequence|time_ms)|delegation\/\d+\/grant\/anchor_id)$/u.test(place);
}

/** A copy in which the value at a pointer is another one of its kind. */
function altered(value: unknown, pointer: string): unknown {
  const [, name, ...rest] = pointer.split("/");
  if (name === undefined) return typeof value === "number" ? value + 1 : otherText(String(value));
  const under = rest.length === 0 ? "" : `/${rest.join("/")}`;
  if (Array.isArray(value)) return value.map((item, at) => (String(at) === name ? altered(item, under) : item));
  const object = value as Json;
  return { ...object, [name]: altered(object[name], under) };
}

/** One character in the middle is another one that may stand there. */
function otherText(text: string): string {
  const middle = Math.floor(text.length / 2);
  return `${text.slice(0, middle)}${text[middle] === "0" ? "1" : "0"}${text.slice(middle + 1)}`;
}

describe("a chain of one's own", () => {
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    for (const who of ["issuer", "deployer", "agent", "witness"]) {
      const { exitCode, stderr } = await runAnchorctl(home, ["keygen", path(who)]);
      if (exitCode !== 0) throw new Error(stderr);
    }
    await renewClaim("deployer");
    ids["agent"] = await claimOf("agent");
    writeFileSync(path("statements.json"), JSON.stringify({ actions: ["deploy to staging"], max_count: 1 }));
    const made = await runAnchorctl(home, ["scope", "make", path("statements.json"), "-o", path("staging.scope.json")]);
    if (made.exitCode !== 0) throw new Error(made.stderr);
    const parties = ["--grantor-claim", ids["deployer"] ?? "", "--grantee-claim", ids["agent"]];
    const keys = ["--grantor-key", path("deployer"), "--witness-key", path("witness")];
    ids["grant"] = await idOf("grant", ...parties, "--scope", path("staging.scope.json"), ...keys);
    writeFileSync(path("act.txt"), "deploy build 7\n");
  }, 120_000);

  /** A claim that supersedes the one before: another attribute of the same entity and issuer. */
  async function claimOf(who: string, attribute = "1"): Promise<string> {
    const about = ["--entity", hashOf(who), "--attribute-type", "0x10", "--attribute-hash", hashOf(attribute)];
    return idOf("claim", ...about, "--subject-key", path(who), "--issuer-key", path("issuer"));
  }

  async function renewClaim(who: string): Promise<void> {
    ids[who] = await claimOf(who);
  }

  const act = (...args: readonly string[]): Promise<Json> =>
    answerOf("anchor", path("act.txt"), "--iris-ref", ids["agent"] ?? "", "--grant-ref", ids["grant"] ?? "", ...args);

  test("an act is anchored under it with the actor's signature, and traced", async () => {
    const said = await act("--actor-key", path("agent"), "--event-data-hash", hashOf("deploy build 7\n"));
    expect(said).toMatchObject({
      receipt_verified: true,
      replayed: false,
      semantic_anchor: { iris_ref: ids["agent"], grant_ref: ids["grant"] },
      actor_public_key: readFileSync(path("agent.pub"), "utf8").trim(),
    });
    const trace = await answerOf("trace", String(said["anchor_id"]));
    expect(trace).toMatchObject({
      anchor: { kind: "signed_event" },
      authorised_at_action: true,
      actor: { actor_signature: "pass" },
    });
    const again = ["--actor-key", path("agent"), "--event-id", String(said["client_event_id"])];
    const replayed = await act(...again, "--event-data-hash", hashOf("deploy build 7\n"));
    expect(replayed).toMatchObject({ anchor_id: said["anchor_id"], replayed: true });
    const other = await online("anchor", path("act.txt"), ...again, "--json");
    expect([other.exitCode, JSON.parse(other.stdout)]).toMatchObject([3, { failure: "client_event_id_conflict" }]);
    expect((await runAnchorctl(home, ["verify", path("act.txt"), "--trust-root", trustRoot])).exitCode).toBe(0);
  }, 120_000);

  test("lineages that went on: a small bundle holds the claims that the service judged by", async () => {
    await claimOf("deployer", "2");
    const { anchor_id: subject } = await act();
    await claimOf("deployer", "3");
    await claimOf("agent", "2");
    for (const flags of [["--small"], []]) {
      const file = path("lineages.bundle.json");
      await answerOf("bundle", String(subject), "--out", file, ...flags);
      const { exitCode, answer } = await verify(file);
      expect([exitCode, answer["failure"], answer["authorised_at_action"]]).toEqual([
        flags.length === 0 ? 0 : 5,
        null,
        true,
      ]);
    }
  }, 120_000);
});

describe("a watch", () => {
  let node: LyingNode;
  let state: string;

  beforeAll(async () => {
    const [first] = setup.cluster.file.nodes;
    node = await LyingNode.before(first?.api_url ?? "");
    state = path("monitor.json");
  });
  afterAll(() => node.stop());

  const origin = (): string => setup.cluster.file.nodes[0]?.origin_fingerprint ?? "";

  /** Looks at the three nodes alone, and at them beside one that lies. */
  const look = (...args: readonly string[]): Promise<Run> => online("monitor", "--state", state, ...args);
  const lookAtLiar = (...args: readonly string[]): Promise<Run> =>
    runAnchorctl(
      home,
      ["monitor", "--state", state, "--api-url", node.apiUrl, "--trust-root", trustRoot, "--timeout", "120", ...args],
      { ANCHORCTL_API_KEY: setup.apiKey },
    );

  const latest = async (): Promise<Json> => answerOf("latest", "--origin", origin());

  test("of an honest cluster sees every tree grow, on every node", async () => {
    expect(await look()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("seen for the first time") });
    writeFileSync(path("one.txt"), "one more");
    await answerOf("anchor", path("one.txt"), "--origin", origin());
    const { exitCode, stdout } = await look("--json");
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { consistent: true, alarms: [], unavailable: [] }]);
    expect(await lookAtLiar()).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("as before") });
  }, 120_000);

  test("of the log as files, at a web server that knows nothing of it, sees what the nodes show", async () => {
    const folder = path("public");
    const { origins } = await answerOf("export", folder);
    expect(origins).toContainEqual(expect.objectContaining({ origin_fingerprint: origin() }));
    const files = await FileServer.start((name) => {
      const file = join(folder, name);
      return existsSync(file) && statSync(file).isFile() ? readFileSync(file) : null;
    });
    try {
      const args = ["monitor", "--state", state, "--api-url", files.url, "--trust-root", trustRoot];
      expect(await runAnchorctl(home, args)).toMatchObject({
        exitCode: 0,
        stdout: expect.stringContaining("as before"),
      });
      expect(await (await fetch(files.url)).text()).toContain("Content-Security-Policy");
    } finally {
      files.stop();
    }
  }, 120_000);

  test("of a node that shows an older tree raises a rollback, with both notes as evidence", async () => {
    const old = JSON.stringify(await latest());
    writeFileSync(path("two.txt"), "one more again");
    await answerOf("anchor", path("two.txt"), "--origin", origin());
    expect((await look()).exitCode).toBe(0);
    const before = readFileSync(state, "utf8");
    node.lie = (target) =>
      target.startsWith(`/v1/event-anchors/latest?origin_fingerprint=${origin()}`) ? { status: 200, body: old } : null;
    const { exitCode, stdout } = await lookAtLiar();
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/✗ rollback .*leaves was seen, now one of \d+/u);
    expect(stdout).toContain("ALARM. Do not trust this service");
    const notes = readFileSync(`${state}.alarm`, "utf8");
    expect(notes).toContain(String((JSON.parse(old) as Json)["checkpoint"]).slice(0, 80));
    expect(notes.match(/\/origin\/[0-9a-f]{64}\n\d+\n/gu)).toHaveLength(2);
    // What was seen stays as it was: the next look compares with it again.
    expect(readFileSync(state, "utf8")).toBe(before);
    node.lie = () => null;
    expect((await lookAtLiar()).exitCode).toBe(0);
  }, 120_000);

  test("of a node that says it never had so much shows what it has instead", async () => {
    node.lie = (target) => {
      if (target.includes("/latest?") && target.includes(origin()))
        return { status: 409, body: JSON.stringify({ code: "from_size_ahead" }) };
      return target.endsWith(`${origin()}/checkpoint`) ? { status: 200, body: "no note" } : null;
    };
    const { exitCode, stdout } = await lookAtLiar("--json");
    node.lie = () => null;
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({ consistent: false, alarms: [{ code: "rollback" }] });
  }, 120_000);

  test("of two trees of one size, both signed by a quorum, raises a split view", async () => {
    const honest = await latest();
    const note = anotherTree(setup.cluster.root, String(honest["checkpoint"]), origin(), ["n1", "n2"]);
    const body = JSON.stringify({ ...honest, checkpoint: note });
    node.lie = (target) => (target.includes("/latest?") && target.includes(origin()) ? { status: 200, body } : null);
    const { exitCode, stdout } = await lookAtLiar();
    node.lie = () => null;
    expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/✗ split view .*two trees of \d+ leaves/u)]);
    expect(readFileSync(`${state}.alarm`, "utf8")).toContain(note);
  }, 120_000);

  test("of another tree that one node signed alone says that it is not certified", async () => {
    const honest = await latest();
    const note = anotherTree(setup.cluster.root, String(honest["checkpoint"]), origin(), ["n1"]);
    const body = JSON.stringify({ ...honest, checkpoint: note });
    node.lie = (target) => (target.includes("/latest?") && target.includes(origin()) ? { status: 200, body } : null);
    const { exitCode, stdout } = await lookAtLiar();
    node.lie = () => null;
    expect([exitCode, stdout]).toEqual([1, expect.stringContaining("quorum_not_met")]);
  }, 120_000);
});

describe("recorded events", () => {
  test("are kept with receipts that verify, from a value, a file and a log that grows", async () => {
    const folder = path("recorded");
    const record = (...args: readonly string[]): Promise<Json> =>
      answerOf(...args, "--what", "tool.call", "--who", "billing-agent", "--folder", folder);
    writeFileSync(path("image.bin"), "bytes");
    expect(await record("record", "--value", '{"order":"4711","amount":19.5}')).toMatchObject({ anchored: 1, left: 0 });
    expect(await record("record", path("image.bin"))).toMatchObject({ anchored: 1, left: 0 });
    const log = path("log.jsonl");
    writeFileSync(log, '{"at":1}\nno JSON\n\n{"at":2}\n');
    expect(await record("tail", log)).toMatchObject({ anchored: 3, refused: 0 });
    renameSync(log, `${log}.1`);
    writeFileSync(log, '{"at":3}\n');
    expect(await record("tail", log)).toMatchObject({ anchored: 1, refused: 0 });
    const { exitCode, stdout } = await runAnchorctl(home, ["verify", join(folder, "kept"), "--trust-root", trustRoot]);
    expect([exitCode, stdout]).toEqual([0, expect.stringContaining("6 of 6 valid")]);
    expect(stdout.match(/says tool\.call at \S+ by billing-agent/gu)).toHaveLength(6);
    expect(readdirSync(join(folder, "spool"))).toEqual([]);
  }, 120_000);
});
