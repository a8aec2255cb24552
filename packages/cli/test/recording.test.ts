/** Recording lines and files: all of them wait for room, say the same of the content, and end on a signal. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SpoolFull } from "@event-anchoring/sdk/recorder";
import { afterEach, beforeEach, expect, jest, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { tailCommand } from "../src/commands/tail.ts";
import type { Target } from "../src/files/target.ts";
import { Recording } from "../src/recording/open-recorder.ts";
import type { RecordingOptions } from "../src/recording/open-recorder.ts";
import { CliError } from "../src/terminal/cli-error.ts";
import { Printer } from "../src/terminal/printer.ts";
import { Progress } from "../src/terminal/progress.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));
const TYPESCRIPT = new URL("../../../test/run/typescript.js", import.meta.url).href;

let home: string;
let recording: Recording | null = null;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "anchorctl-recording-"));
});
afterEach(async () => {
  jest.restoreAllMocks();
  await recording?.close();
  recording = null;
  rmSync(home, { recursive: true, force: true });
});

const silent = { isTTY: false, write: () => true };
// Nobody listens on port 1 of this machine: everything stays in the spool.
const target = { apiUrls: ["http://127.0.0.1:1"], apiKey: "k" } as unknown as Target;

function options(changes: Partial<RecordingOptions> = {}): RecordingOptions {
  return {
    what: "tool.call",
    who: null,
    contentType: null,
    isSalted: false,
    folder: join(home, "recorded"),
    act: { semanticAnchor: undefined, actor: null },
    timeoutMs: 1,
    trust: { trustRoots: [], pin: null, clusterFolder: null, workingDir: home },
    isJson: true,
    ...changes,
  } as unknown as RecordingOptions;
}

async function open(changes: Partial<RecordingOptions> = {}): Promise<Recording> {
  recording = await Recording.open(options(changes), target, new Progress(silent));
  return recording;
}

const WAYS: readonly [string, "record" | "recordHash", (recording: Recording) => Promise<unknown>][] = [
  ["a value", "record", (it) => it.record({ at: 1 })],
  ["a line that is no JSON", "record", (it) => it.recordLine(Buffer.from("no JSON"))],
  ["a hash", "recordHash", (it) => it.recordHash("ab".repeat(32), 9)],
];

test.each(WAYS)("%s waits for room in the spool", async (_title, method, record) => {
  const opened = await open();
  const spy = jest.spyOn(opened.recorder, method).mockImplementationOnce(() => {
    throw new SpoolFull(1);
  });
  await expect(record(opened)).resolves.toMatchObject({ clientEventId: expect.any(String) as unknown });
  expect(spy).toHaveBeenCalledTimes(2);
});

test.each(WAYS)("%s that cannot be recorded is an error of the command", async (_title, _method, record) => {
  await expect(record(await open({ what: "" }))).rejects.toBeInstanceOf(CliError);
});

test("a line that is no JSON has the content type that is given, else text/plain", async () => {
  for (const [given, expected] of [
    [null, "text/plain"],
    ["text/csv", "text/csv"],
  ] as const) {
    const opened = await open({ contentType: given });
    const spy = jest.spyOn(opened.recorder, "record");
    await opened.recordLine(Buffer.from("a,b"));
    expect(spy.mock.calls.at(-1)?.[1].contentType).toBe(expected);
    await opened.close();
  }
});

test("a signal ends tail before the end of the file, with a summary, and the lines come again", async () => {
  const file = join(home, "log.jsonl");
  writeFileSync(file, '{"at":1}\n{"at":2}\n{"at":3}\n');
  const stop = new AbortController();
  const record = jest.spyOn(Recording.prototype, "recordLine").mockImplementation(async () => {
    stop.abort();
    return null;
  });
  let text = "";
  const printer = new Printer({ isTTY: false, write: (written) => (text += written) }, {});
  const tail = { ...options(), file, isFollowing: true, signal: stop.signal, workingDir: home };
  expect(await tailCommand(tail, target, printer, new Progress(silent))).toBe(0);
  expect(record).toHaveBeenCalledTimes(1);
  expect(JSON.parse(text)).toMatchObject({ recorded: 0, left: 0 });
  const state = JSON.parse(readFileSync(join(home, "recorded", "tail.json"), "utf8")) as object;
  expect(state).toMatchObject({ offset: 0 });
});

test("a salted line that is recorded again after a crash is the same event", async () => {
  const file = join(home, "log.jsonl");
  writeFileSync(file, '{"at":1}\n{"at":2}\n');
  const recorded: string[] = [];
  const { recordLine } = Recording.prototype;
  const run = async (endsAfter: number): Promise<void> => {
    const stop = new AbortController();
    let count = 0;
    jest.spyOn(Recording.prototype, "recordLine").mockImplementation(async function (this: Recording, line, more) {
      const event = await recordLine.call(this, line, more);
      recorded.push(`${event?.clientEventId} ${event?.eventHash}`);
      if (++count === endsAfter) stop.abort();
      return event;
    });
    const tail = { ...options({ isSalted: true }), file, isFollowing: false, signal: stop.signal, workingDir: home };
    const printer = new Printer({ isTTY: false, write: () => undefined }, {});
    await tailCommand(tail, target, printer, new Progress(silent));
  };
  await run(1);
  await run(2);
  expect([recorded.length, new Set(recorded).size]).toEqual([3, 2]);
  const spool = join(home, "recorded", "spool");
  const frames = readdirSync(spool).map((name) => readFileSync(join(spool, name), "latin1"));
  expect(frames.join("").match(/"salt":"[0-9a-f]{64}"/g)).toHaveLength(3);
});

test("SIGTERM ends tail -f with a summary and an exit code", async () => {
  const file = join(home, "log.jsonl");
  writeFileSync(file, '{"at":1}\n');
  const settled = join(home, "recorded", "tail.json");
  const program = ["--conditions=source", "--import", TYPESCRIPT, MAIN];
  const flags = ["--what", "tool.call", "--json", "--folder", join(home, "recorded"), "--timeout", "1"];
  const args = [...program, "tail", "-f", file, ...flags, "--api-url", "http://127.0.0.1:1"];
  const environment = { ...process.env, ANCHORCTL_API_KEY: "k" };
  const child = spawn(process.execPath, args, { cwd: home, env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let stdout = "";
  child.stdout.on("data", (bytes: Buffer) => (stdout += bytes.toString()));
  const ended = once(child, "close");
  const isRecorded = (): boolean => existsSync(settled) && readFileSync(settled, "utf8").includes('"offset":9');
  await until("the line is recorded", () => child.exitCode !== null || isRecorded());
  child.kill("SIGTERM");
  expect(await ended).toEqual([4, null]);
  expect(JSON.parse(stdout)).toMatchObject({ left: 1 });
}, 120_000);
