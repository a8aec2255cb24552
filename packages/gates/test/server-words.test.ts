import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { plant, planting } from "@event-anchoring/testkit/faults";
import { CrosscheckProcess, SERVER, TYPESCRIPT } from "@event-anchoring/testkit/sdks";
import type { CrosscheckAnswer } from "@event-anchoring/testkit/sdks";
import { verdictOf } from "../src/gates/mutations.ts";
import { readCorpus } from "../src/mutations/corpus.ts";
import { type Question, Questions } from "../src/mutations/draw.ts";
import { agreesWithServer, isForServer } from "../src/mutations/server-words.ts";

const questions = new Questions(readCorpus(fileURLToPath(new URL("../../../test/vectors", import.meta.url))));
const DRAWN = 400;
const drawn = Array.from({ length: DRAWN }, (_, seed) => questions.draw(seed));
const asked = drawn.flatMap(({ question }) => (question === null ? [] : [question]));

test("a question is a function of its seed", () => {
  expect(Array.from({ length: 50 }, (_, seed) => questions.draw(seed))).toEqual(drawn.slice(0, 50));
});

test("documents of every kind are asked about, and nearly all draws can be asked", () => {
  const ops = new Set(asked.map(({ op }) => op));
  expect(ops).toEqual(new Set(["verify_receipt", "verify_bundle", "verify_trust_root", "verify_checkpoint"]));
  expect(asked.length).toBeGreaterThan(DRAWN * 0.9);
});

describe("an SDK and the server", () => {
  let sdk: CrosscheckProcess;
  let server: CrosscheckProcess;
  beforeAll(() => {
    [sdk, server] = [new CrosscheckProcess(TYPESCRIPT), new CrosscheckProcess(SERVER)];
  });
  afterAll(() => [sdk, server].forEach((program) => program.end()));

  test("can read more than half of what is changed, and come to every verdict", async () => {
    const verdicts = (await Promise.all(asked.map((question) => sdk.ask(question)))).map(verdictOf);
    expect(new Set(verdicts)).toEqual(new Set(["valid", "valid_as_stated", "invalid", "malformed", "refused"]));
    expect(verdicts.filter((verdict) => verdict === "malformed").length).toBeLessThan(asked.length / 2);
  }, 120_000);

  test("judge trust roots and checkpoints alike, by the reason", async () => {
    const reasons = new Set<unknown>();
    for (const question of asked.filter(isForServer)) {
      const [told, said] = await Promise.all([sdk.ask(question), server.ask(question)]);
      expect([question, told, said, agreesWithServer(said, told, question)]).toEqual([question, told, said, true]);
      reasons.add(told.error?.code ?? told.ok?.["code"] ?? told.ok?.["verdict"]);
    }
    for (const reason of ["malformed", "checkpoint_malformed", "log_signature_missing", "quorum_not_met"]) {
      expect(reasons).toContain(reason);
    }
    expect(reasons.size).toBeGreaterThan(8);
  }, 240_000);
});

describe("a server that takes a checkpoint which its log has not signed", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-server-"));
  const bugs = join(folder, "bugs.json");
  let programs: readonly CrosscheckProcess[] = [];
  beforeAll(() => {
    plant(bugs, [
      {
        module: "/control-contract/dist/witness/witnessed-logs.js",
        text: "return refusal === null && verified.length > 0;",
        instead: "return true;",
      },
    ]);
    const wrong = { ...SERVER, environment: planting(bugs) };
    programs = [TYPESCRIPT, wrong].map((command) => new CrosscheckProcess(command));
  });
  afterAll(() => {
    programs.forEach((program) => program.end());
    rmSync(folder, { recursive: true });
  });

  test("is found", async () => {
    const differing = new Set<unknown>();
    for (const question of asked.filter(({ op }) => op === "verify_checkpoint").filter(isForServer)) {
      const [told = {}, said = {}] = await Promise.all(programs.map((program) => program.ask(question)));
      if (!agreesWithServer(said, told, question)) differing.add(told.ok?.["code"]);
    }
    expect(differing).toContain("log_signature_missing");
  }, 240_000);
});

describe("what the server says of a checkpoint", () => {
  const text = "log/origin\n5\nroot\n";
  const note = `${text}\n\u2014 log/origin AAAA\n\u2014 node BBBB\n`;
  const question: Question = { op: "verify_checkpoint", checkpoint: note };
  const said = (witness: string, by: readonly number[] | null): CrosscheckAnswer => {
    return { ok: { witness, certified_by: by, newest: 2 } };
  };
  const judged = (code: string | null, superseded: number | null = null): CrosscheckAnswer => {
    return { ok: { verdict: code === null ? "valid" : "invalid", code, superseded_trust_root: superseded } };
  };

  test.each([
    [null, "cosigned", [2], true],
    [null, "cosigned", [1], false],
    [null, "untrusted", [2], false],
    ["checkpoint_malformed", "malformed", [], true],
    ["checkpoint_malformed", "log_unknown", [], false],
    ["origin_unknown", "log_unknown", [], true],
    ["origin_differs", "cosigned", [], false],
    ["log_signature_missing", "untrusted", [1], true],
    ["log_signature_missing", "cosigned", [1], false],
    ["signature_invalid", "cosigned", [], true],
    ["signature_invalid", "malformed", [], false],
    ["quorum_not_met", "cosigned", [], true],
    ["quorum_not_met", "cosigned", [1], false],
    ["cosigner_distrusted", "cosigned", [1], true],
    ["cosigner_distrusted", "cosigned", [], false],
    ["something_new", "cosigned", [2], false],
  ])("%s: %s, certified by %j", (code, witness, by, isAlike) => {
    expect(agreesWithServer(said(witness, by), judged(code), question)).toBe(isAlike);
  });

  test("is held against the version that alone is satisfied, and against none that it cannot know", () => {
    expect(agreesWithServer(said("cosigned", [1]), judged(null, 1), question)).toBe(true);
    expect(agreesWithServer(said("cosigned", null), judged(null), question)).toBe(true);
    expect(agreesWithServer({ error: { code: "server_differs" } }, judged(null), question)).toBe(false);
  });

  test("must be a refusal if a bad line can be the log's alone", () => {
    const alone = { ...question, checkpoint: `${text}\n\u2014 log/origin AAAA\n` };
    expect(agreesWithServer(said("cosigned", []), judged("signature_invalid"), alone)).toBe(false);
    expect(agreesWithServer(said("untrusted", []), judged("signature_invalid"), alone)).toBe(true);
  });

  test("is not asked about extension lines, which other logs may have", () => {
    expect(isForServer(question)).toBe(true);
    expect(isForServer({ ...question, checkpoint: note.replace("root\n", "root\nmore\n") })).toBe(false);
    expect(isForServer({ op: "verify_receipt" })).toBe(false);
  });
});

test("a refusal for a rule is not one for what cannot be read", () => {
  expect(verdictOf({ error: { code: "quorum_unsafe" } })).toBe("refused");
  expect(verdictOf({ error: { code: "not_canonical" } })).toBe("malformed");
  expect(verdictOf({ error: { code: "proof_header_unknown" } })).toBe("malformed");
  expect(verdictOf({ ok: { verdict: "invalid", code: "checkpoint_malformed" } })).toBe("malformed");
  expect(verdictOf({ ok: { verdict: "invalid", code: "origin_unknown" } })).toBe("invalid");
  expect(verdictOf({ ok: { verdict: "invalid", code: "leaf_malformed" } })).toBe("malformed");
  expect(verdictOf({ ok: { outcome: "valid_as_stated", fails: null } })).toBe("valid_as_stated");
});
