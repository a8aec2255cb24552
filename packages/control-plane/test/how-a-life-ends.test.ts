import { describe, expect, test } from "@jest/globals";
import { LedgerHaltError } from "@event-anchoring/ledger";
import { StoreError } from "@event-anchoring/store";
import { EngineDeadError, RaftPanicError } from "raft-ts";
import { PromiseFileError } from "../src/promises/promise-file.ts";
import { FencedError } from "../src/promises/start-judgement.ts";
import { LifeJudge, WrongRootError, endOfError } from "../src/session/how-a-life-ends.ts";
import { StepClock, quietLogger } from "./doubles.ts";

describe("how a life ends in which something was thrown", () => {
  test.each([
    [new FencedError({ code: "log_went_back", detail: "d" }), { kind: "fenced", code: "log_went_back", detail: "d" }],
    [
      new LedgerHaltError("entry_version_unknown", "v"),
      { kind: "halted", code: "entry_version_unknown", detail: "entry_version_unknown: v" },
    ],
    [new WrongRootError("w"), { kind: "halted", code: "wrong_root_thk", detail: "w" }],
    [new StoreError("corrupt", "c"), { kind: "halted", code: "corrupt_row", detail: "c" }],
    [new StoreError("other_build", "o"), { kind: "halted", code: "database_of_other_build", detail: "o" }],
    [new PromiseFileError("mode", "m"), { kind: "halted", code: "promise_file_mode", detail: "m" }],
    [new PromiseFileError("foreign", "f"), { kind: "halted", code: "promise_file_foreign", detail: "f" }],
    [new PromiseFileError("unusable", "u"), { kind: "unavailable", check: "promise_file" }],
    [new StoreError("full", "f"), { kind: "unavailable", check: "storage_full" }],
    [new StoreError("unavailable", "u"), { kind: "unavailable", check: "storage" }],
    [new EngineDeadError("e"), { kind: "unavailable", check: "engine" }],
    [new RaftPanicError("p", "stack"), { kind: "panicked" }],
    [new Error("something else"), { kind: "unavailable", check: "storage" }],
  ])("%s", (error, expected) => {
    expect(endOfError(error)).toMatchObject(expected);
  });
});

const NOBODY = { voters: [], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
const SNAPSHOT = { index: 1, term: 1, confState: NOBODY };

describe("whether another life follows", () => {
  const panicked = endOfError(new RaftPanicError("tocommit is out of range", "stack"));

  test.each([
    ["fenced", endOfError(new FencedError({ code: "log_went_back", detail: "d" })), 78],
    ["halted", endOfError(new WrongRootError("w")), 79],
  ])("none after a life that ended %s", (reason, end, exitCode) => {
    const judge = new LifeJudge({ clock: new StepClock(), logger: quietLogger });
    expect(judge.stopReasonOf(end)).toMatchObject({ reason, exitCode });
  });

  test("one after an unavailable life, an installed state, and a stop", () => {
    const judge = new LifeJudge({ clock: new StepClock(), logger: quietLogger });
    expect(judge.stopReasonOf(endOfError(new Error("e")))).toBeNull();
    expect(judge.stopReasonOf({ kind: "behind", snapshot: SNAPSHOT, leader: null })).toBeNull();
    expect(judge.stopReasonOf({ kind: "stopped" })).toBeNull();
  });

  test("none after three panics of the engine within a minute, while loading or later", () => {
    const clock = new StepClock();
    const judge = new LifeJudge({ clock, logger: quietLogger });
    expect(judge.stopReasonOf(panicked)).toBeNull();
    clock.advance(61_000);
    expect(judge.stopReasonOf(panicked)).toBeNull();
    expect(judge.stopReasonOf(panicked)).toBeNull();
    expect(judge.stopReasonOf(panicked)).toMatchObject({ code: "engine_panics", detail: "tocommit is out of range" });
  });
});
