import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Seeded } from "@event-anchoring/simulator";
import {
  MixedLoad,
  Recorder,
  SqlSession,
  answersAt,
  audit,
  isRefusal,
  nodeFiles,
  questionsAbout,
  startTestCluster,
  until,
  wrongAnswers,
} from "@event-anchoring/testkit";
import type { LoadAnswer, Question, TestCluster } from "@event-anchoring/testkit";
import { flipBackup, anchorctlVerify, takeBackup } from "../src/flips/backup-flips.ts";
import { damageNode } from "../src/flips/node-flips.ts";
import type { FlipRound } from "../src/flips/node-flips.ts";
import type { Place } from "../src/flips/places.ts";

// The gate's judgement: what is checked before it is told stays right, and what is not checked is found.

const TIMEOUT_MS = 600_000;
const DAMAGED = "n2";
const FLIPS = 8;

let setup: TestCluster;
const recorder = new Recorder();

beforeAll(async () => {
  setup = await startTestCluster();
  const load = MixedLoad.start(setup, recorder, "first", { writers: 3, batchEvents: 4 });
  await load.more(60, TIMEOUT_MS);
  await load.stop();
}, TIMEOUT_MS);

afterAll(async () => {
  await setup?.erase();
}, TIMEOUT_MS);

describe("a bit of a leaf that a node holds", () => {
  let place: Place;

  async function damage(seed: number): Promise<FlipRound> {
    const dice = new Seeded(seed);
    return damageNode(setup, recorder, { nodeId: DAMAGED, what: "tables", places: [place], dice, seed });
  }

  beforeAll(async () => {
    // The newest event: it is asked for in every round.
    const event = recorder.anchored.findLast(({ kind }) => kind === "event");
    place = await placeOf(Buffer.from(event?.content ?? "", "hex"));
  }, TIMEOUT_MS);

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
