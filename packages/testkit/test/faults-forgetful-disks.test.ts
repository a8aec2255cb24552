import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "@jest/globals";
import { ForgetfulDisks } from "../src/faults/forgetful-disks.ts";

const folder = mkdtempSync(join(tmpdir(), "anchoring-forgetting-"));
const made = ForgetfulDisks.make();
const disks = made instanceof ForgetfulDisks ? made : null;
if (!(made instanceof ForgetfulDisks)) process.stdout.write(`forgetful disks are not tested: ${made.missing}\n`);

afterAll(() => {
  disks?.close();
  rmSync(folder, { recursive: true });
});

const path = join(folder, "file");
const [OLD, NEW] = ["o".repeat(10_000), "n".repeat(10_000)];

/** Runs lines on an open file in a process of its own, which then ends by SIGKILL. */
function write(lines: string, flags = "'r+'"): void {
  const script = `const fs = require("node:fs"); const file = fs.openSync(${JSON.stringify(path)}, ${flags});
    const put = (text, at) => fs.writeSync(file, text, at); ${lines}; process.kill(process.pid, "SIGKILL")`;
  const { signal, stderr } = spawnSync(process.execPath, ["-e", script], {
    encoding: "utf8",
    env: { ...process.env, ...disks?.environment("n1", folder) },
  });
  expect([signal, stderr]).toEqual(["SIGKILL", ""]);
}

const content = (): string => readFileSync(path, "utf8");
const NOTHING = (): boolean => false;

(disks === null ? describe.skip : describe)("a disk that forgets", () => {
  beforeEach(() => {
    disks?.environment("n1", folder);
    disks?.forget("n1", NOTHING);
    writeFileSync(path, OLD);
  });

  test("loses what was written since the last sync, and the file's growth", () => {
    write(`put(${JSON.stringify(NEW + NEW)}, 0)`);
    expect(content()).toBe(NEW + NEW);
    expect(disks?.forget("n1", NOTHING)).toEqual({ files: 1, pages: 5, kept: 0 });
    expect(content()).toBe(OLD);
    expect(disks?.forget("n1", NOTHING)).toEqual({ files: 0, pages: 0, kept: 0 });
  });

  test.each(["fsyncSync", "fdatasyncSync"])("keeps what came before %s, by whatever process", (sync) => {
    write(`put("first", 0)`);
    write(`fs.${sync}(fs.openSync(${JSON.stringify(path)}, "r")); put("other", 2); put("again", 2)`);
    disks?.forget("n1", NOTHING);
    expect(content()).toBe(`first${OLD.slice(5)}`);
  });

  test("keeps what was written through a descriptor that syncs", () => {
    write(`put("lost", 9000); put("durable", 0)`, "fs.constants.O_RDWR | fs.constants.O_DSYNC");
    disks?.forget("n1", NOTHING);
    expect(content()).toBe(`durable${OLD.slice(7, 9000)}lost${OLD.slice(9004)}`);
    write(`put("unsynced", 0)`);
    write(`put("synced", 100)`, "fs.constants.O_RDWR | fs.constants.O_DSYNC");
    disks?.forget("n1", NOTHING);
    // A page goes to the disk as a whole.
    expect(content().slice(0, 8)).toBe("unsynced");
  });

  test("keeps pages that the kernel may have written, and loses others", () => {
    const answers = [true, false, true];
    write(`put(${JSON.stringify(NEW)}, 0)`);
    expect(disks?.forget("n1", () => answers.shift() ?? false)).toEqual({ files: 1, pages: 1, kept: 2 });
    expect(content()).toBe(NEW.slice(0, 4096) + OLD.slice(4096, 8192) + NEW.slice(8192));
  });

  test("takes removing, replacing and truncating for durable", () => {
    write(`put("lost", 0); fs.ftruncateSync(file, 6)`);
    disks?.forget("n1", NOTHING);
    expect(content()).toBe("lostoo");
    write(`put("gone", 0); fs.unlinkSync(${JSON.stringify(path)}); fs.writeFileSync(${JSON.stringify(path)}, "")`);
    disks?.forget("n1", NOTHING);
    expect(content()).toBe("");
  });

  test("is no affair of files elsewhere", () => {
    const other = join(folder, "..", `${process.pid}-elsewhere`);
    write(`fs.writeFileSync(${JSON.stringify(other)}, "kept")`);
    disks?.forget("n1", NOTHING);
    expect(readFileSync(other, "utf8")).toBe("kept");
    rmSync(other);
  });
});
