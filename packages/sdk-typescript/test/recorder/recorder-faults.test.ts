import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, jest, test } from "@jest/globals";
import { InvalidInput, LocalKey } from "../../src/index.ts";
import { EventRefused, Recorder, SpoolFull } from "../../src/recorder/index.ts";
import type { RecorderOptions } from "../../src/recorder/index.ts";
import { makeProblem } from "../../src/problem-classes.ts";
import { FakeService } from "./fake-service.ts";

const root = mkdtempSync(join(tmpdir(), "anchoring-recorder-faults-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let service = new FakeService();
let directory = "";
let errors: Error[] = [];
let made = 0;
beforeEach(() => {
  service = new FakeService();
  errors = [];
  directory = join(root, `recorder-${made++}`);
});
afterEach(() => {
  jest.restoreAllMocks();
});

async function opened(options: Partial<RecorderOptions> = {}): Promise<Recorder> {
  return Recorder.open({
    client: service,
    directory,
    batchMs: 1,
    exitFlushMs: 0,
    onError: (error) => errors.push(error),
    ...options,
  });
}

const REFUND = { what: "refund", when: "2026-11-23T10:00:00.000Z" };
const NEXT_DAY = { what: "refund", when: "2026-11-24T10:00:00.000Z" };
const OVERLOADED = { status: 503, code: "overloaded" };

function spoolFiles(): string[] {
  return readdirSync(join(directory, "spool"));
}

/** Every error sets the clock back by an hour: the pause that it begins lasts that long, unless it is cut short. */
function withLongPauses(): Partial<RecorderOptions> {
  let clockMs = 1e9;
  jest.spyOn(performance, "now").mockImplementation(() => clockMs);
  return {
    onError: (error) => {
      errors.push(error);
      clockMs -= 3_600_000;
    },
  };
}

/** Resolves when the recorder has told of an error: the pause has begun then. */
async function failed(): Promise<void> {
  while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
}

describe("what is refused", () => {
  test.each([
    [400, "http_400"],
    [413, "http_413"],
    [422, "origin_unknown"],
  ])("%i with the code %s is not about the events: nothing is refused", async (status, code) => {
    const recorder = await opened();
    const handles = [1, 2, 3].map((content) => recorder.record(content, REFUND));
    for (const { eventHash } of handles) service.refusing.set(eventHash, { status, code, whole: true });
    await failed();
    expect(service.batches[0]).toHaveLength(3);
    expect([existsSync(join(directory, "refused")), errors[0]]).toEqual([false, expect.objectContaining({ code })]);
    service.refusing.clear();
    await recorder.close();
    expect(service.anchored.size).toBe(3);
  });

  test("one event with a code that is not the service's is sent again", async () => {
    const recorder = await opened();
    const { eventHash, anchored } = recorder.record(1, REFUND);
    service.refusing.set(eventHash, { status: 400, code: "http_400" });
    await failed();
    service.refusing.clear();
    expect((await anchored).eventHash).toBe(eventHash);
    await recorder.close();
  });
});

describe("an event that is not settled", () => {
  const actor = LocalKey.fromSeed("61".repeat(32));

  test.each([
    ["no", undefined],
    ["another", LocalKey.fromSeed("62".repeat(32))],
  ])("since the recorder has %s signer waits, and the others are sent", async (_, actorSigner) => {
    service.isDown = true;
    const first = await opened({ actorSigner: actor });
    const signed = first.record(1, REFUND);
    expect(await first.close({ timeoutMs: 1 })).toEqual({ left: 1 });
    service.isDown = false;
    service.batches.length = 0;
    const recorder = await opened({ actorSigner, batchMs: 20 });
    const handle = recorder.record(2, REFUND);
    await handle.anchored;
    expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: 1 });
    expect([...service.anchored.keys()]).toEqual([handle.clientEventId]);
    expect(errors).toContainEqual(expect.any(InvalidInput));
    const last = await opened({ actorSigner: actor });
    await last.close();
    expect([...service.anchored.keys()]).toEqual([handle.clientEventId, signed.clientEventId]);
  });

  test("since the client cannot send it waits, and the others are sent", async () => {
    const client: RecorderOptions["client"] = {
      createEventAnchors: (events, options) =>
        events.some(({ semanticAnchor }) => semanticAnchor?.irisRef === "1b".repeat(32))
          ? Promise.reject(new InvalidInput("semanticAnchor.irisRef", "is not wanted today"))
          : service.createEventAnchors(events, options),
    };
    const recorder = await opened({ client });
    const handles = [1, 2, 3].map((content) => recorder.record(content, REFUND));
    recorder.record(4, { ...REFUND, semanticAnchor: { irisRef: "1b".repeat(32) } });
    await Promise.all(handles.map(({ anchored }) => anchored));
    expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: 1 });
    expect([service.anchored.size, existsSync(join(directory, "refused"))]).toEqual([3, false]);
  });

  test("holds up nobody else, and a flush sends it at once", async () => {
    const recorder = await opened(withLongPauses());
    const bad = recorder.record(1, REFUND);
    service.refusing.set(bad.eventHash, OVERLOADED);
    await recorder.record(2, REFUND).anchored;
    await failed();
    await recorder.record(3, REFUND).anchored;
    expect(service.batches.flat().filter(({ clientEventId }) => clientEventId === bad.clientEventId)).toHaveLength(1);
    service.refusing.clear();
    await recorder.flush({ timeoutMs: 20_000 });
    expect(service.anchored.size).toBe(3);
    await recorder.close();
  });

  test("that is refused when it is sent again leaves the spool", async () => {
    const recorder = await opened(withLongPauses());
    const bad = recorder.record(1, REFUND);
    service.refusing.set(bad.eventHash, OVERLOADED);
    await failed();
    service.refusing.set(bad.eventHash, { status: 422, code: "reference_not_found" });
    await recorder.flush({ timeoutMs: 20_000 });
    await expect(bad.anchored).rejects.toThrow(EventRefused);
    expect(spoolFiles()).toEqual([]);
    await recorder.close();
  });
});

describe("while the service is paused for", () => {
  test("a flush asks at once", async () => {
    service.isDown = true;
    const recorder = await opened(withLongPauses());
    recorder.record(1, REFUND);
    await failed();
    service.isDown = false;
    await recorder.flush({ timeoutMs: 20_000 });
    expect(service.anchored.size).toBe(1);
    await recorder.close();
  });

  test("who waits for room asks at once", async () => {
    service.isDown = true;
    const recorder = await opened({ ...withLongPauses(), spoolBytesMax: 1_000 });
    recorder.record("x".repeat(700), REFUND);
    await failed();
    service.isDown = false;
    await recorder.room();
    expect(service.anchored.size).toBe(1);
    await recorder.close();
  });
});

describe("a pause", () => {
  /** Answers as the service, after one refusal of all. */
  function busyOnce(retryAfter: number | undefined): RecorderOptions["client"] {
    let failures = 1;
    return {
      createEventAnchors: (events, options) =>
        failures-- > 0
          ? Promise.reject(makeProblem("overloaded", "later", { status: 503, retryAfter }))
          : service.createEventAnchors(events, options),
    };
  }

  test("of all is as long as the service asks for", async () => {
    const paused: number[] = [];
    const { setTimeout: real } = globalThis;
    jest.spyOn(globalThis, "setTimeout").mockImplementation(((run: () => void, ms: number) => {
      // What is longer than a batch waits is a pause. It ends at once here.
      if (ms > 100) paused.push(ms);
      return real(run, ms > 100 ? 0 : ms);
    }) as typeof setTimeout);
    for (const [retryAfter, expected] of [
      [undefined, 500],
      [0.1, 500],
      [90, 90_000],
    ] as const) {
      paused.length = 0;
      const recorder = await opened({
        directory: join(directory, String(expected), String(retryAfter)),
        client: busyOnce(retryAfter),
      });
      recorder.record(1, REFUND);
      while (paused.length === 0) await new Promise((resolve) => setImmediate(resolve));
      expect(Math.round((paused[0] ?? 0) / 10) * 10).toBe(expected);
      await recorder.close();
    }
  });
});

describe("a flush", () => {
  test("waits for what was recorded before, and not for what comes later", async () => {
    const recorder = await opened();
    const early = recorder.record(1, REFUND);
    const flushed = recorder.flush({ timeoutMs: 20_000 });
    const late = recorder.record(2, REFUND);
    service.refusing.set(late.eventHash, OVERLOADED);
    await flushed;
    expect([...service.anchored.keys()]).toEqual([early.clientEventId]);
    expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: 1 });
  });

  test("is not over when later ones are anchored", async () => {
    const recorder = await opened();
    const early = recorder.record(1, REFUND);
    service.refusing.set(early.eventHash, OVERLOADED);
    const flushed = recorder.flush({ timeoutMs: 100 });
    const late = recorder.record(2, REFUND);
    await expect(flushed).rejects.toMatchObject({ left: 1 });
    await late.anchored;
    service.refusing.clear();
    await recorder.close();
    expect(service.anchored.size).toBe(2);
  });
});

describe("room", () => {
  test("is there when what was refused fits", async () => {
    service.isDown = true;
    const recorder = await opened({ spoolBytesMax: 2_000 });
    recorder.record("x".repeat(700), REFUND);
    const big = "x".repeat(1_400);
    expect(() => recorder.record(big, REFUND)).toThrow(SpoolFull);
    service.isDown = false;
    await recorder.room();
    recorder.record(big, REFUND);
    await recorder.close();
    expect(service.anchored.size).toBe(2);
  });

  test("is there though what was kept could not be synced, and a file of the spool is left for that", async () => {
    let failures = 1;
    const syncPath = (path: string): Promise<void> =>
      path.endsWith(".json") && failures-- > 0 ? Promise.reject(new Error("EIO")) : Promise.resolve();
    const recorder = await opened({ spoolBytesMax: 2_000, files: { syncPath } });
    recorder.record("x".repeat(1_500), REFUND);
    await recorder.flush();
    expect([errors.length, spoolFiles().length]).toEqual([1, 1]);
    await recorder.room();
    recorder.record("x".repeat(1_500), REFUND);
    expect(await recorder.close()).toEqual({ left: 0 });
    expect([service.anchored.size, spoolFiles().length]).toEqual([2, 1]);
  });

  test("is never there for what is larger than the spool: that is refused as such", async () => {
    const recorder = await opened({ spoolBytesMax: 1_000 });
    expect(() => recorder.record("x".repeat(1_000), REFUND)).toThrow(InvalidInput);
    await recorder.room();
    expect(await recorder.close()).toEqual({ left: 0 });
  });
});

test("references are those of the moment: the caller may change the object", async () => {
  const usual = { irisRef: "1a".repeat(32) };
  const recorder = await opened({ semanticAnchor: usual });
  usual.irisRef = "1b".repeat(32);
  recorder.record(0, REFUND);
  const own = { irisRef: "1c".repeat(32) };
  recorder.record(1, { ...REFUND, semanticAnchor: own });
  own.irisRef = "1d".repeat(32);
  recorder.record(2, { ...REFUND, semanticAnchor: own });
  await recorder.close();
  expect(service.batches.flat().map(({ semanticAnchor }) => semanticAnchor)).toEqual(
    ["1a", "1c", "1d"].map((byte) => ({ irisRef: byte.repeat(32) })),
  );
});

describe("folders", () => {
  test("of kept files may be moved away once they are flushed", async () => {
    const recorder = await opened();
    await recorder.record(1, REFUND).anchored;
    await recorder.flush();
    renameSync(join(directory, "kept", "2026-11-23"), join(directory, "archived"));
    await recorder.record(2, NEXT_DAY).anchored;
    await recorder.flush();
    expect([spoolFiles(), errors]).toEqual([[], []]);
    const again = await recorder.record(3, REFUND).anchored;
    await recorder.flush();
    expect([existsSync(again.receiptPath), spoolFiles(), errors]).toEqual([true, [], []]);
    await recorder.close();
  });

  test("that are made are synced where they are named, once", async () => {
    const synced: string[] = [];
    const deep = join(directory, "a", "b");
    const syncPath = (path: string): Promise<void> => Promise.resolve(void synced.push(path));
    service.isDown = true;
    const recorder = await opened({ directory: deep, files: { syncPath } });
    await recorder.record(1, REFUND).durable;
    expect(synced.sort()).toEqual([root, directory, dirname(deep), deep, join(deep, "spool")]);
    await recorder.record(2, REFUND).durable;
    expect(synced).toHaveLength(5);
    service.isDown = false;
    await recorder.flush();
    expect(synced).toEqual(expect.arrayContaining([join(deep, "kept"), join(deep, "kept", "2026-11-23")]));
    await recorder.close();
  });

  test("and files are for the user of the program alone", async () => {
    const recorder = await opened();
    const kept = await recorder.record(Buffer.from("PDF"), REFUND).anchored;
    const bad = recorder.record(Buffer.from("JPG"), REFUND);
    service.refusing.set(bad.eventHash, { status: 422, code: "reference_not_found" });
    await recorder.flush();
    const refused = join(directory, "refused", `${bad.clientEventId}.json`);
    const files = [kept.payloadPath, kept.receiptPath, kept.contentPath ?? "", refused, `${refused}.problem`];
    const folders = [
      directory,
      ...["spool", "kept", "kept/2026-11-23", "refused"].map((name) => join(directory, name)),
    ];
    const modes = (paths: readonly string[]): number[] => paths.map((path) => statSync(path).mode & 0o777);
    expect(modes(files)).toEqual(files.map(() => 0o600));
    expect(modes(folders)).toEqual(folders.map(() => 0o700));
    const locks = readdirSync(directory).filter((name) => name.startsWith("lock-"));
    expect(modes(locks.map((name) => join(directory, name)))).toEqual([0o600]);
    await recorder.close();
  });
});
