import { createHash } from "node:crypto";
import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { FollowedFile } from "../src/recording/followed-file.ts";
import type { FollowedChunk, FollowedLine } from "../src/recording/followed-file.ts";
import { LineSplitter } from "../src/recording/lines.ts";

const root = mkdtempSync(join(tmpdir(), "anchorctl-tail-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
let file = "";
let state = "";
let gaps: string[] = [];
beforeEach(() => {
  const name = `log-${made++}`;
  [file, state, gaps] = [join(root, `${name}.jsonl`), join(root, `${name}.state`), []];
});

const open = (): FollowedFile => FollowedFile.open(file, state, (message) => gaps.push(message));
const text = ({ line }: FollowedLine): string => Buffer.from(line).toString();
const textsOf = (chunk: FollowedChunk | null): string[] => (chunk?.lines ?? []).map(text);

/** Everything there is, settled. */
function take(followed: FollowedFile): string[] {
  const found: string[] = [];
  for (let chunk = followed.next(); chunk !== null; chunk = followed.next()) {
    found.push(...textsOf(chunk));
    chunk.settle();
  }
  return found;
}

/** The id of the only line there is, settled. */
function takeOne(followed: FollowedFile): string {
  const chunk = followed.next();
  expect(chunk?.lines).toHaveLength(1);
  chunk?.settle();
  return chunk?.lines[0]?.clientEventId ?? "";
}

describe("a file that is followed", () => {
  test("gives whole lines, as they come", () => {
    const followed = open();
    expect(take(followed)).toEqual([]);
    writeFileSync(file, "a\nb\nc");
    expect(take(followed)).toEqual(["a", "b"]);
    appendFileSync(file, "d\n\ne\n");
    expect(take(followed)).toEqual(["cd", "", "e"]);
    followed.close();
  });

  test("is read on where the last run has ended", () => {
    writeFileSync(file, "a\nb\n");
    const first = open();
    take(first);
    first.close();
    appendFileSync(file, "c\n");
    expect(take(open())).toEqual(["c"]);
  });

  test("lines that were not settled come again, as the same events", () => {
    writeFileSync(file, "a\nb\n");
    const before = open().next();
    appendFileSync(file, "c\n");
    const again = open().next();
    expect(again?.lines.slice(0, 2)).toEqual(before?.lines);
    expect(new Set(again?.lines.map(({ clientEventId }) => clientEventId)).size).toBe(3);
  });

  test("lines that come again have the same salts, which nothing gives away once they are settled", () => {
    writeFileSync(file, "a\nb\n");
    const salts = (chunk: FollowedChunk | null): string[] => (chunk?.lines ?? []).map((line) => line.salt);
    const before = salts(open().next());
    appendFileSync(file, "c\n");
    const again = open().next();
    expect(salts(again).slice(0, 2)).toEqual(before);
    expect(new Set(salts(again)).size).toBe(3);
    for (const salt of salts(again)) expect(salt).toMatch(/^[0-9a-f]{64}$/);
    const during = JSON.parse(readFileSync(state, "utf8")) as { readonly saltSeed: string };
    expect(during.saltSeed).toMatch(/^[0-9a-f]{64}$/);
    again?.settle();
    expect(readFileSync(state, "utf8")).not.toContain(during.saltSeed);
    appendFileSync(file, "d\n");
    open().next();
    expect(JSON.parse(readFileSync(state, "utf8"))).not.toMatchObject({ saltSeed: during.saltSeed });
    expect(JSON.parse(readFileSync(state, "utf8"))).toMatchObject({
      saltSeed: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  test("that is rotated is read to its end, then the new one", () => {
    const followed = open();
    writeFileSync(file, "a\n");
    expect(take(followed)).toEqual(["a"]);
    appendFileSync(file, "b\nc");
    renameSync(file, `${file}.1`);
    writeFileSync(file, "d\n");
    expect(take(followed)).toEqual(["b", "c", "d"]);
    followed.close();
  });

  test("that was rotated while nobody followed is found beside it", () => {
    writeFileSync(file, "a\nb\n");
    const first = open();
    const chunk = first.next();
    chunk?.settle();
    first.close();
    appendFileSync(file, "c\n");
    renameSync(file, `${file}.1`);
    writeFileSync(file, "d\n");
    expect(take(open())).toEqual(["c", "d"]);
    expect(gaps).toEqual([]);
  });

  test("whose rotated part is gone says so, and goes on", () => {
    writeFileSync(file, "a\n");
    take(open());
    // Kept until the new one has another inode.
    renameSync(file, join(root, "elsewhere"));
    writeFileSync(file, "b\n");
    expect(take(open())).toEqual(["b"]);
    expect(gaps).toHaveLength(1);
  });

  test("that is emptied is read from its beginning", () => {
    writeFileSync(file, "a\nb\n");
    const followed = open();
    expect(take(followed)).toEqual(["a", "b"]);
    truncateSync(file, 0);
    expect(take(followed)).toEqual([]);
    appendFileSync(file, "c\n");
    expect(take(followed)).toEqual(["c"]);
    followed.close();
  });

  test("whose inode and offsets come again has other events", () => {
    writeFileSync(file, "a\n");
    const first = open();
    const ids = [takeOne(first)];
    truncateSync(file, 0);
    expect(take(first)).toEqual([]);
    appendFileSync(file, "b\n");
    ids.push(takeOne(first));
    first.close();
    truncateSync(file, 0);
    const second = open();
    expect(take(second)).toEqual([]);
    appendFileSync(file, "c\n");
    ids.push(takeOne(second));
    expect(new Set(ids).size).toBe(3);
  });

  test("that was emptied while lines were unsettled gives the new ones a time of their own", () => {
    writeFileSync(file, "a\n");
    const first = open();
    take(first);
    appendFileSync(file, "b\n");
    expect(textsOf(first.next())).toEqual(["b"]);
    first.close();
    const earlier = "2026-11-21T02:43:41.734Z";
    const kept = JSON.parse(readFileSync(state, "utf8")) as object;
    writeFileSync(state, JSON.stringify({ ...kept, when: earlier }));
    truncateSync(file, 0);
    const second = open();
    expect(take(second)).toEqual([]);
    appendFileSync(file, "c\n");
    const [line] = second.next()?.lines ?? [];
    expect(line?.when).not.toBe(earlier);
    second.close();
  });

  test("keeps the ids of an earlier release's state, which has no generation", () => {
    writeFileSync(file, "a\n");
    const { ino } = statSync(file);
    const seed = "07".repeat(32);
    writeFileSync(state, JSON.stringify({ file, inode: ino, offset: 0, when: "2026-11-21T02:43:41.734Z", seed }));
    const id = createHash("sha256").update(`${seed}:${ino}:0`).digest("hex").slice(0, 32);
    expect(open().next()?.lines[0]?.clientEventId).toBe(id);
  });

  test("whose last line had no newline is not read again after a crash behind it", () => {
    writeFileSync(file, "a\nb");
    const first = open();
    expect(take(first)).toEqual(["a"]);
    first.close();
    renameSync(file, `${file}.1`);
    writeFileSync(file, "c\n");
    const second = open();
    const chunk = second.next();
    chunk?.settle();
    second.close();
    expect(textsOf(chunk)).toEqual(["b"]);
    expect(take(open())).toEqual(["c"]);
  });

  test("that was rotated twice while nobody followed says what was not read", () => {
    writeFileSync(file, "a\n");
    const first = open();
    take(first);
    first.close();
    renameSync(file, `${file}.2`);
    utimesSync(`${file}.2`, 1000, 1000);
    writeFileSync(`${file}.3`, "before\n");
    utimesSync(`${file}.3`, 500, 500);
    writeFileSync(`${file}.1`, "b\n");
    utimesSync(`${file}.1`, 2000, 2000);
    writeFileSync(file, "c\n");
    expect(take(open())).toEqual(["c"]);
    expect(gaps).toEqual([expect.stringContaining(`${file}.1 was not followed`)]);
  });

  test("has a state of its own", () => {
    writeFileSync(file, "a\n");
    take(open());
    expect(() => FollowedFile.open(`${file}.other`, state, () => undefined)).toThrow("one folder for each file");
    writeFileSync(state, "{");
    expect(open).toThrow("is no state of tail");
  });
});

test("lines are the same however the bytes are cut", () => {
  const bytes = Buffer.from("a\n\nb c\r\nÜ\nend");
  for (let size = 1; size <= bytes.length; size++) {
    const splitter = new LineSplitter();
    const lines: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      for (const line of splitter.take(bytes.subarray(at, at + size))) lines.push(Buffer.from(line).toString());
    }
    expect([...lines, Buffer.from(splitter.begun).toString()]).toEqual(["a", "", "b c\r", "Ü", "end"]);
  }
});
