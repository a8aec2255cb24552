import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { RotatingLog } from "../src/rotating-log.ts";

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "anchoring-log-"));
  path = join(folder, "logs", "api.log");
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const line = (text: string): Uint8Array => new TextEncoder().encode(`${text}\n`);

describe("RotatingLog", () => {
  test("keeps two files of the stated length, and the newest lines", () => {
    const log = new RotatingLog({ path, bytesMax: 100 });
    for (let i = 0; i < 1000; i++) log.write(line(`line ${i}`));
    log.close();
    expect(statSync(path).size).toBeLessThanOrEqual(100);
    expect(statSync(`${path}.1`).size).toBeLessThanOrEqual(100);
    expect(readFileSync(path, "utf8")).toContain("line 999");
  });

  test("goes on where an earlier run ended, and is private", () => {
    const first = new RotatingLog({ path });
    first.write(line("before"));
    first.close();
    const second = new RotatingLog({ path });
    second.write(line("after"));
    second.close();
    expect(readFileSync(path, "utf8")).toBe("before\nafter\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("tells people's lines from records", () => {
    const log = new RotatingLog({ path });
    expect(log.newestRemark).toBe("");
    log.write(line("the settings are wrong"));
    log.write(line('{"level":50,"msg":"cannot start"}'));
    expect(log.newestRemark).toBe("the settings are wrong");
    log.close();
  });

  test("drops what comes after its end", () => {
    const log = new RotatingLog({ path });
    log.close();
    log.write(line("too late"));
    log.close();
    expect(readFileSync(path, "utf8")).toBe("");
  });
});
