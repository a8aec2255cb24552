import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import { until } from "@event-anchoring/testkit";
import { nodeFiles, startTestCluster } from "@event-anchoring/testkit/cluster";
import {
  MixedLoad,
  Recorder,
  answersAt,
  audit,
  isRefusal,
  plant,
  planting,
  questionsAbout,
  wrongAnswers,
} from "@event-anchoring/testkit/faults";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { LoadAnswer } from "@event-anchoring/testkit/clients";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { FlippedBit, PlantedCode, Question } from "@event-anchoring/testkit/faults";
import { takeBackup } from "../src/anchorctl/backups.ts";
import { flipBackup, anchorctlVerify } from "../src/flips/backup-flips.ts";
import { damageNode, metBits } from "../src/flips/node-flips.ts";
import type { FlipRound } from "../src/flips/node-flips.ts";
import type { Place } from "../src/flips/places.ts";

// The gate's judgement: what is checked before it is told stays right, and what is not checked is found.

const TIMEOUT_MS = 600_000;
const DAMAGED = "n2";
const FLIPS = 8;

/** A node that takes any setting of its database. */
const ANY_SETTING: PlantedCode = {
  module: "/store/dist/postgres/settings.js",
  text: "if (bad.length > 0)",
  instead: "if (false)",
};
/** A node that looks at no row: neither at its start, nor meanwhile, nor before it answers what the row holds. */
const ANY_ROW: readonly PlantedCode[] = [
  {
    module: "/store/dist/ledger/ledger-load.js",
    text: "if (depth !== from + position || !isIntact)",
    instead: "if (false)",
  },
  {
    module: "/control-plane/dist/scrub/scrub.js",
    text: "if (this.#options.rowsPerSecond > 0)",
    instead: "if (false)",
  },
  { module: "/store/dist/tables/anchors.js", text: "if (!isIntact)", instead: "if (false)" },
];
/** So many of the newest records are asked for, each. */
const ASKED_NEWEST = 40;

const folder = mkdtempSync(join(tmpdir(), "anchoring-flips-"));
/** As long as it is there, the damaged node has the bugs in it. */
const bugs = join(folder, "bugs.json");
let setup: TestCluster;
const recorder = new Recorder();

beforeAll(async () => {
  setup = await startTestCluster({
    faultHooks: {
      environment: (nodeId, program) => (nodeId === DAMAGED && program !== "postgres" ? planting(bugs) : {}),
    },
  });
  const load = MixedLoad.start(setup, recorder, "first", { writers: 3, batchEvents: 4 });
  await load.more(60, TIMEOUT_MS);
  await load.stop();
}, TIMEOUT_MS);

afterAll(async () => {
  await setup?.erase();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

describe("a bit of a leaf that a node holds", () => {
  /** Alters a bit of an event that is asked for in the round. @param harm what the node is to be without by then */
  async function damage(seed: number, harm = (): void => {}): Promise<FlipRound & { readonly altered: string }> {
    // Not among the newest: their block is written to beside the damage.
    const event = recorder.anchored.slice(-ASKED_NEWEST).find(({ kind }) => kind === "event");
    const place = await placeOf(Buffer.from(event?.content ?? "", "hex"));
    harm();
    const dice = new Seeded(seed);
    const round = await damageNode(setup, recorder, { nodeId: DAMAGED, what: "tables", places: [place], dice, seed });
    return { ...round, altered: event?.anchorId ?? "" };
  }

  test(
    "comes to no answer while Postgres looks at its checksums, and does no harm when it is given back",
    async () => {
      const { broken, isWhole, refused, answered } = await damage(1);
      expect([broken, isWhole]).toEqual([[], true]);
      expect(refused).toBeGreaterThan(0);
      expect(refused + answered).toBeGreaterThanOrEqual(30);
      expect((await audit(setup, recorder)).broken).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test(
    "comes to no answer either where Postgres does not look: the node compares its rows with its leaves",
    async () => {
      const { broken, isWhole, refused } = await damage(2, () => {
        ignoreChecksums();
        plant(bugs, [ANY_SETTING]);
      });
      expect([broken, isWhole]).toEqual([[], true]);
      expect(refused).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );

  test(
    "is found in the answers of a node that does not",
    async () => {
      const { broken, altered } = await damage(3, () => plant(bugs, [ANY_SETTING, ...ANY_ROW]));
      expect(broken.join("\n")).toContain(`${DAMAGED}: /v1/event-anchors/${altered}: 200 `);
    },
    TIMEOUT_MS,
  );
});

describe("bits in several files", () => {
  const bitIn = (path: string): FlippedBit => ({ path, offset: 0, bit: 0, block: new Uint8Array() });

  test("are met where the server names their file", () => {
    const flipped = ["/d/base/5/16390", "/d/base/5/6390", "/d/base/5/16400"].map(bitIn);
    const said = [
      'ERROR:  invalid page in block 3 of relation "base/5/16390"',
      'ERROR:  invalid page in block 4 of relation "base/5/16390"',
      "WARNING:  page verification failed, calculated checksum 1 but expected 2",
    ].join("\n");
    expect(metBits(said, flipped)).toEqual([bitIn("/d/base/5/16390")]);
    expect(metBits("", flipped)).toEqual([]);
  });

  test(
    "count where the node has met them: it stops at the first, and is started with the others",
    async () => {
      const nodeId = "n3";
      const dice = new Seeded(5);
      const places = await Promise.all(["state.anchors", "node.raft_log"].map((name) => firstBlockOf(nodeId, name)));
      const round = await damageNode(setup, recorder, { nodeId, what: "tables", places, dice, seed: 5 });
      expect([round.broken, round.flips, round.isWhole]).toEqual([[], 2, true]);
    },
    TIMEOUT_MS,
  );
});

describe("an answer of a damaged node", () => {
  let asked: readonly Question[];
  let sound: readonly LoadAnswer[];

  beforeAll(async () => {
    const events = recorder.anchored.filter(({ kind }) => kind === "event").slice(0, 2);
    asked = questionsAbout(setup, events).filter(({ about }) => about !== null);
    sound = await until("n1 answers", async () => {
      const given = await answersAt(setup, "n1", asked);
      return given.some(isRefusal) ? null : given;
    });
  }, TIMEOUT_MS);

  const judged = (status: number, text: string): readonly string[] => {
    return wrongAnswers(setup, asked, sound, [{ status, text }, ...sound.slice(1)]);
  };

  test("is good if it is that of a sound node, or a refusal that says why", () => {
    expect(asked).toHaveLength(2);
    expect(wrongAnswers(setup, asked, sound, sound)).toEqual([]);
    expect(judged(503, '{"code":"storage_unavailable"}')).toEqual([]);
    expect(judged(0, "connect ECONNREFUSED")).toEqual([]);
  });

  test("is found if a digit is another one, a record is missing, or it is an error without a reason", () => {
    const text = sound[0]?.text ?? "";
    const id = recorder.anchored.find(({ kind }) => kind === "event")?.content ?? "";
    expect(
      judged(
        200,
        text.replace(
          id,
          id.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
        ),
      ),
    ).toHaveLength(1);
    expect(judged(404, '{"code":"anchor_not_found"}')).toHaveLength(1);
    expect(judged(500, '{"code":"internal_error"}')).toHaveLength(1);
    expect(judged(503, "Service Unavailable")).toHaveLength(1);
  });

  test("is found if its receipt is another anchor's", () => {
    const [first, second] = sound.map(({ text }) => JSON.parse(text) as Record<string, unknown>);
    const other = JSON.stringify({ ...first, receipt: second?.["receipt"] });
    expect(judged(200, other).join()).toContain("the receipt: ");
  });
});

describe("a backup with a bit that was altered", () => {
  let path: string;

  beforeAll(async () => {
    path = await takeBackup(setup, "n1", "flips.backup");
  }, TIMEOUT_MS);

  afterAll(() => rmSync(path, { force: true }));

  test(
    "is refused by anchorctl, whichever it is, and taken again without",
    async () => {
      expect(await flipBackup(path, FLIPS, new Seeded(3), anchorctlVerify(setup))).toEqual([]);
    },
    TIMEOUT_MS,
  );

  test("is found when the judge does not look, or has an error", async () => {
    expect(await flipBackup(path, FLIPS, new Seeded(3), async () => 0)).toHaveLength(FLIPS);
    expect(await flipBackup(path, FLIPS, new Seeded(3), async () => 70)).toHaveLength(FLIPS + 1);
  });
});

/** From the next start of the damaged node's server on. */
function ignoreChecksums(): void {
  const { databaseDir } = nodeFiles(setup.cluster, DAMAGED);
  appendFileSync(join(databaseDir, "postgresql.conf"), "\nignore_checksum_failure = on\n");
}

/** Where in the table of anchors these bytes are: a server that is stopped has written them out. */
async function placeOf(bytes: Buffer): Promise<Place> {
  const { databaseUrl, databaseDir } = nodeFiles(setup.cluster, DAMAGED);
  const session = await SqlSession.open(databaseUrl);
  const [row] = await session.rows("SELECT pg_relation_filepath('state.anchors') AS path");
  await session.close();
  await setup.cluster.node(DAMAGED).stopPostgres();
  const path = join(databaseDir, String(row?.["path"]));
  const offset = readFileSync(path).indexOf(bytes);
  await setup.cluster.node(DAMAGED).startPostgres();
  await setup.cluster.ready(TIMEOUT_MS);
  expect(offset).toBeGreaterThan(0);
  return { path, offset };
}

/** A byte at the end of its first page, where its oldest row is. */
async function firstBlockOf(nodeId: string, table: string): Promise<Place> {
  const { databaseUrl, databaseDir } = nodeFiles(setup.cluster, nodeId);
  const session = await SqlSession.open(databaseUrl);
  const [row] = await session.rows("SELECT pg_relation_filepath($1::regclass) AS path", [table]);
  await session.close();
  return { path: join(databaseDir, String(row?.["path"])), offset: 8000 };
}
