import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { parseEnvelope } from "@event-anchoring/bundle";
import { LocalKey } from "../../src/index.ts";
import {
  EventRefused,
  FolderInUse,
  NotFlushed,
  Recorder,
  SpoolCorrupt,
  SpoolFull,
  SpoolWriteFailed,
} from "../../src/recorder/index.ts";
import type { KeptEvent, RecorderOptions, RecorderProgress } from "../../src/recorder/index.ts";
import { FakeService } from "./fake-service.ts";

const root = mkdtempSync(join(tmpdir(), "anchoring-recorder-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let service = new FakeService();
let directory = "";
let made = 0;
beforeEach(() => {
  service = new FakeService();
  directory = join(root, `recorder-${made++}`);
});

type Options = Partial<RecorderOptions>;

async function opened(options: Options = {}): Promise<Recorder> {
  return Recorder.open({
    client: service,
    directory,
    batchMs: 1,
    exitFlushMs: 0,
    onError: () => undefined,
    ...options,
  });
}

const REFUND = { what: "refund", when: "2026-11-23T10:00:00.000Z" };

function spoolFiles(): string[] {
  return readdirSync(join(directory, "spool")).sort();
}

/** Events that a closed recorder has left behind. */
async function leave(events: number): Promise<{ readonly file: string; readonly ids: readonly string[] }> {
  service.isDown = true;
  const recorder = await opened();
  const handles = Array.from({ length: events }, (_, at) => recorder.record(at, REFUND));
  expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: events });
  service.isDown = false;
  const [file = ""] = spoolFiles();
  return { file: join(directory, "spool", file), ids: handles.map(({ clientEventId }) => clientEventId) };
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

describe("an event", () => {
  test("is kept as the bytes that were hashed, with its receipt, and leaves the spool", async () => {
    const recorder = await opened({ who: "billing-agent", salt: true });
    const handle = recorder.record({ order: "4711", amount: 19.5 }, REFUND);
    const kept = await handle.anchored;
    expect(kept.payloadPath).toBe(join(directory, "kept", "2026-11-23", `${handle.clientEventId}.json`));
    const envelope = readFileSync(kept.payloadPath);
    expect([sha256(envelope), service.anchored.get(handle.clientEventId)]).toEqual([
      handle.eventHash,
      handle.eventHash,
    ]);
    expect(parseEnvelope(Uint8Array.from(envelope))).toMatchObject({
      what: "refund",
      when: REFUND.when,
      who: "billing-agent",
      content: { json: { order: "4711", amount: 19.5 } },
      salt: expect.stringMatching(/^[0-9a-f]{64}$/u) as unknown,
    });
    expect(readFileSync(kept.receiptPath, "utf8")).toBe(kept.receipt.toProofText());
    await recorder.close();
    expect(spoolFiles()).toEqual([]);
    expect(readdirSync(directory).sort()).toEqual(["kept", "spool"]);
  });

  test("of bytes is kept beside its envelope", async () => {
    const recorder = await opened();
    const kept = await recorder.record(Buffer.from("PDF"), { ...REFUND, contentType: "application/pdf" }).anchored;
    expect(readFileSync(kept.contentPath ?? "", "utf8")).toBe("PDF");
    const { content, contentType } = parseEnvelope(Uint8Array.from(readFileSync(kept.payloadPath)));
    expect([content, contentType]).toEqual([{ hash: sha256(Buffer.from("PDF")), size: 3 }, "application/pdf"]);
    const elsewhere = await recorder.recordHash("ab".repeat(32), 9, REFUND).anchored;
    expect(elsewhere.contentPath).toBeNull();
    await recorder.close();
  });

  test.each([
    ["a bigint", { a: 2n ** 60n }, "envelope_number_unsafe"],
    ["a date", { a: new Date() }, "envelope_malformed"],
    ["more than 1 MiB", "x".repeat(1024 * 1024), "envelope_too_large"],
  ])("of %s is refused, and nothing is recorded", async (_, content, code) => {
    const recorder = await opened();
    expect(() => recorder.record(content as string, REFUND)).toThrow(expect.objectContaining({ code }));
    await recorder.close();
    expect(service.batches).toEqual([]);
  });

  test.each([
    ["what", { what: "" }],
    ["when", { what: "x", when: new Date(Number.NaN) }],
    ["clientEventId", { what: "x", clientEventId: "1" }],
    ["attachments", { what: "x", attachments: [{ name: "a", contentType: "a/b", size: 1, hash: "" }] }],
    ["semanticAnchor", { what: "x", semanticAnchor: { irisRef: "1" } }],
  ])("with a wrong %s is refused", async (_, options) => {
    const recorder = await opened();
    expect(() => recorder.record(1, options)).toThrow(/./u);
    expect(await recorder.close()).toEqual({ left: 0 });
  });

  test("refers to what it or its recorder says, and is signed when it is sent", async () => {
    const actor = LocalKey.fromSeed("61".repeat(32));
    const recorder = await opened({ semanticAnchor: { irisRef: "1b".repeat(32) }, actorSigner: actor });
    recorder.record(1, REFUND);
    recorder.record(2, { ...REFUND, semanticAnchor: { grantRef: "2c".repeat(32) } });
    await recorder.flush();
    expect(service.batches.flat()).toMatchObject([
      { semanticAnchor: { irisRef: "1b".repeat(32) }, actorSigner: actor },
      { semanticAnchor: { grantRef: "2c".repeat(32) }, actorSigner: actor },
    ]);
    await recorder.close();
  });
});

describe("batches", () => {
  test("are full, or their first event has waited", async () => {
    const recorder = await opened({ batchEventsMax: 3, batchMs: 5 });
    for (let at = 0; at < 7; at++) recorder.record(at, REFUND);
    await recorder.flush();
    expect(service.batches.map((batch) => batch.length)).toEqual([3, 3, 1]);
    await recorder.close();
  });

  test("of signed events have at most 256", async () => {
    const recorder = await opened({ actorSigner: LocalKey.fromSeed("61".repeat(32)) });
    for (let at = 0; at < 300; at++) recorder.record(at, REFUND);
    await recorder.flush();
    expect(service.batches.map((batch) => batch.length)).toEqual([256, 44]);
    await recorder.close();
  });

  test("progress is told, and what is anchored", async () => {
    const told: RecorderProgress[] = [];
    const kept: KeptEvent[] = [];
    const recorder = await opened({ onProgress: (each) => told.push(each), onAnchored: (each) => kept.push(each) });
    const handles = Array.from({ length: 5 }, (_, at) => recorder.record(at, REFUND));
    await recorder.flush();
    await recorder.close();
    expect(told.at(-1)).toEqual({ recorded: 5, durable: 5, anchored: 5, refused: 0 });
    expect(kept.map(({ clientEventId }) => clientEventId).sort()).toEqual(
      handles.map(({ clientEventId }) => clientEventId).sort(),
    );
  });
});

describe("a service that fails", () => {
  test.each(["answer_lost", "unreachable", "no_receipts"] as const)("%s: the same ids are sent again", async (mood) => {
    service.moods = [mood];
    const errors: Error[] = [];
    const recorder = await opened({ onError: (error) => errors.push(error) });
    const handles = [recorder.record(1, REFUND), recorder.record(2, REFUND)];
    await recorder.flush();
    const ids = handles.map(({ clientEventId }) => clientEventId);
    expect(service.batches.map((batch) => batch.map(({ clientEventId }) => clientEventId))).toEqual([ids, ids]);
    expect([...service.anchored.keys()]).toEqual(ids);
    expect(errors).toHaveLength(mood === "no_receipts" ? 0 : 1);
    await recorder.close();
  });

  test("an event that it refuses for good is set aside, and the others are anchored", async () => {
    const errors: Error[] = [];
    const recorder = await opened({ onError: (error) => errors.push(error) });
    const [good, bad] = [recorder.record(1, REFUND), recorder.record(2, REFUND)];
    service.refusing.set(bad.eventHash, { status: 422, code: "reference_not_found" });
    await expect(bad.anchored).rejects.toThrow(EventRefused);
    await good.anchored;
    await recorder.flush();
    const path = join(directory, "refused", `${bad.clientEventId}.json`);
    expect(sha256(readFileSync(path))).toBe(bad.eventHash);
    expect(JSON.parse(readFileSync(`${path}.problem`, "utf8"))).toMatchObject({
      code: "reference_not_found",
      status: 422,
    });
    expect(errors).toEqual([expect.any(EventRefused)]);
    await recorder.close();
    expect(spoolFiles()).toEqual([]);
  });

  test("one event that spoils its batch is found", async () => {
    const recorder = await opened();
    const handles = Array.from({ length: 9 }, (_, at) => recorder.record(at, REFUND));
    const bad = handles[5];
    service.refusing.set(bad?.eventHash ?? "", { status: 400, code: "invalid_request", whole: true });
    await recorder.flush();
    expect(service.anchored.size).toBe(8);
    await expect(bad?.anchored).rejects.toMatchObject({ code: "invalid_request", status: 400 });
    await recorder.close();
  });

  test("a closed origin is not the event's fault", async () => {
    const recorder = await opened();
    const handle = recorder.record(1, REFUND);
    service.refusing.set(handle.eventHash, { status: 409, code: "origin_closed" });
    await expect(recorder.flush({ timeoutMs: 50 })).rejects.toThrow(NotFlushed);
    expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: 1 });
    expect(existsSync(join(directory, "refused"))).toBe(false);
  });

  test("what is left at the end is sent by the next one, with the same ids", async () => {
    const { ids } = await leave(3);
    const recorder = await opened();
    await recorder.flush();
    await recorder.close();
    expect([...service.anchored.keys()]).toEqual(ids);
    expect(readdirSync(join(directory, "kept", "2026-11-23"))).toHaveLength(6);
    expect(spoolFiles()).toEqual([]);
  });

  test("a full spool pushes back until there is room", async () => {
    service.isDown = true;
    const recorder = await opened({ spoolBytesMax: 2_000 });
    let recorded = 0;
    expect(() => {
      for (; ; recorded++) recorder.record("x".repeat(100), REFUND);
    }).toThrow(SpoolFull);
    expect(recorded).toBeGreaterThan(3);
    service.isDown = false;
    await recorder.room();
    recorder.record(1, REFUND);
    await recorder.close();
    expect(service.anchored.size).toBe(recorded + 1);
  });
});

describe("a spool that was left behind", () => {
  test("cut off at any byte gives the events before", async () => {
    const { file } = await leave(2);
    const whole = readFileSync(file);
    const middle = whole.length / 2;
    for (const length of [0, 1, 11, 12, 13, middle - 1, middle, middle + 1, middle + 12, whole.length - 1]) {
      writeFileSync(file, whole);
      truncateSync(file, length);
      service = new FakeService();
      const recorder = await opened();
      await recorder.close();
      expect([length, service.anchored.size]).toEqual([length, length < middle ? 0 : 1]);
    }
  });

  test("spoiled before its end is refused, and nothing is changed", async () => {
    const { file } = await leave(2);
    const bytes = readFileSync(file);
    bytes.writeUInt8(bytes.readUInt8(60) ^ 1, 60);
    writeFileSync(file, bytes);
    await expect(opened()).rejects.toThrow(SpoolCorrupt);
    await expect(opened()).rejects.toThrow(`${file}: a frame is spoiled at offset 0`);
    expect(readFileSync(file)).toEqual(bytes);
    expect(readdirSync(directory)).toEqual(["spool"]);
  });
});

describe("a disk that fails", () => {
  const systemError = (code: string): Error => Object.assign(new Error(code), { code });

  test.each(["ENOSPC", "EFBIG"])(
    "%s in the middle of a frame: it is not recorded, and the next ones are",
    async (code) => {
      let failing = 0;
      const files: Options["files"] = {
        writeSync: (fd, buffer, offset, length, position) => {
          if (failing === 0) return writeSync(fd, buffer, offset, length, position);
          if (failing-- === 1) throw systemError(code);
          return writeSync(fd, buffer, offset, length >> 1, position);
        },
      };
      const recorder = await opened({ files });
      recorder.record(1, REFUND);
      failing = 2;
      expect(() => recorder.record(2, REFUND)).toThrow(SpoolWriteFailed);
      recorder.record(3, REFUND);
      await recorder.close();
      expect(service.anchored.size).toBe(2);
    },
  );

  test("a torn frame that cannot be cut off ends its file", async () => {
    let isFailing = false;
    const files: Options["files"] = {
      writeSync: (fd, buffer, offset, length, position) => {
        if (!isFailing) return writeSync(fd, buffer, offset, length, position);
        writeSync(fd, buffer, offset, length >> 1, position);
        throw systemError("ENOSPC");
      },
      ftruncateSync: () => {
        throw systemError("EIO");
      },
    };
    service.isDown = true;
    const recorder = await opened({ files });
    recorder.record(1, REFUND);
    isFailing = true;
    expect(() => recorder.record(2, REFUND)).toThrow(SpoolWriteFailed);
    isFailing = false;
    recorder.record(3, REFUND);
    expect(await recorder.close({ timeoutMs: 1 })).toEqual({ left: 2 });
    service.isDown = false;
    const next = await opened();
    await next.close();
    expect(service.anchored.size).toBe(2);
  });

  test("a kept folder that is full: the event stays in the spool, and is kept later", async () => {
    let failures = 1;
    const errors: Error[] = [];
    const { writeFile } = await import("node:fs/promises");
    const recorder = await opened({
      onError: (error) => errors.push(error),
      files: {
        writeFile: async (path, content) => {
          if (failures-- > 0) throw systemError("ENOSPC");
          await writeFile(path, content);
        },
      },
    });
    const kept = await recorder.record(1, REFUND).anchored;
    expect([existsSync(kept.receiptPath), errors.map(({ message }) => message)]).toEqual([true, ["ENOSPC"]]);
    await recorder.close();
  });

  test("a file that could not be synced never makes an event durable again, and gets no more of them", async () => {
    service.isDown = true;
    let failures = 1;
    const errors: Error[] = [];
    const progress: RecorderProgress[] = [];
    const recorder = await opened({
      batchMs: 60_000,
      onError: (error) => errors.push(error),
      onProgress: (now) => progress.push(now),
      files: { syncFile: () => (failures-- > 0 ? Promise.reject(systemError("EIO")) : Promise.resolve()) },
    });
    const lost = recorder.record(1, REFUND);
    await expect(lost.durable).rejects.toThrow(SpoolWriteFailed);
    await recorder.record(2, REFUND).durable;
    await expect(lost.durable).rejects.toThrow("cannot be synced (EIO)");
    expect(spoolFiles()).toHaveLength(2);
    service.isDown = false;
    await recorder.flush();
    expect(progress.at(-1)).toEqual({ recorded: 2, durable: 2, anchored: 2, refused: 0 });
    // It is anchored, and what it is kept in is synced.
    await lost.durable;
    expect([errors, spoolFiles()]).toEqual([[expect.any(SpoolWriteFailed)], []]);
    await recorder.close();
  });

  test("what was synced before stays durable, and what was recorded meanwhile is not", async () => {
    service.isDown = true;
    let fail = (): void => undefined;
    let syncs = 0;
    const failing = new Promise<void>((_, reject) => {
      fail = () => reject(systemError("EIO"));
    });
    const syncFile = (): Promise<void> => (++syncs === 2 ? failing : Promise.resolve());
    const recorder = await opened({ batchMs: 60_000, files: { syncFile } });
    const before = recorder.record(1, REFUND);
    await before.durable;
    const during = recorder.record(2, REFUND).durable;
    const meanwhile = recorder.record(3, REFUND);
    fail();
    await expect(during).rejects.toThrow(SpoolWriteFailed);
    await before.durable;
    await expect(meanwhile.durable).rejects.toThrow(SpoolWriteFailed);
    await recorder.close({ timeoutMs: 1 });
  });

  test("what could not be synced where it is kept stays in the spool, and is kept again by the next one", async () => {
    let failures = 1;
    const errors: Error[] = [];
    const recorder = await opened({
      onError: (error) => errors.push(error),
      files: {
        syncPath: (path) =>
          path.endsWith(".json") && failures-- > 0 ? Promise.reject(systemError("EIO")) : Promise.resolve(),
      },
    });
    const kept = await recorder.record(1, REFUND).anchored;
    await recorder.record(2, REFUND).anchored;
    expect(await recorder.close()).toEqual({ left: 0 });
    expect([spoolFiles().length, errors]).toEqual([1, [expect.any(SpoolWriteFailed)]]);
    rmSync(kept.payloadPath);
    const next = await opened();
    await next.close();
    expect([existsSync(kept.payloadPath), spoolFiles(), service.anchored.size]).toEqual([true, [], 2]);
  });
});

describe("the lock", () => {
  test("of a living process refuses, and names it", async () => {
    const recorder = await opened();
    await expect(opened()).rejects.toThrow(FolderInUse);
    await expect(opened()).rejects.toMatchObject({ pid: process.pid });
    await recorder.close();
    await (await opened()).close();
  });

  test.each([
    ["that has ended", "lock-2147483646-1-00000000"],
    ["whose id another one has got", `lock-${process.pid}-1-00000000`],
  ])("of a process %s is taken away", async (_, name) => {
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, name), "");
    await (await opened()).close();
    expect(readdirSync(directory)).not.toContain(name);
  });
});

describe("a program", () => {
  /** Its service is down, or answers nothing but what a file says. */
  function run(lines: string): { status: number | null; signal: string | null; stderr: string } {
    const sdk = new URL("../../dist/recorder/index.js", import.meta.url).href;
    const program = `
      import { Recorder } from "${sdk}";
      const down = { createEventAnchors: () => new Promise(() => undefined) };
      const recorder = await Recorder.open({ client: down, directory: ${JSON.stringify(directory)}, exitFlushMs: 50 });
      ${lines}`;
    return spawnSync(process.execPath, ["--input-type=module", "-e", program], { encoding: "utf8" });
  }

  test("that is killed loses nothing that record has returned for", async () => {
    const killed = run(`
      for (let at = 0; at < 40; at++) recorder.record({ at }, { what: "refund" });
      process.kill(process.pid, "SIGKILL");`);
    expect(killed).toMatchObject({ signal: "SIGKILL" });
    const recorder = await opened();
    await recorder.close();
    expect(service.anchored.size).toBe(40);
    expect(spoolFiles()).toEqual([]);
  });

  test("that ends without closing flushes, and is not held up for long", async () => {
    const ended = run('recorder.record(1, { what: "refund" });');
    expect(ended).toMatchObject({ status: 0, stderr: "" });
    expect(readdirSync(directory)).toEqual(["spool"]);
    const recorder = await opened();
    await recorder.close();
    expect(service.anchored.size).toBe(1);
  });
});
