import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { RaftEngine } from "../src/index.ts";
import { replay } from "./support/transcript.ts";

/** `REWRITE=1` writes what is printed now into the transcripts; the diff is the review. */
const isRewrite = process.env["REWRITE"] === "1";
const folder = new URL("transcripts/", import.meta.url);
const names = readdirSync(folder).filter((name) => name.endsWith(".txt"));

describe("transcripts", () => {
  test("are there", () => expect(names.length).toBeGreaterThanOrEqual(12));

  test.each(names)("%s", async (name) => {
    const file = new URL(name, folder);
    const recorded = readFileSync(file, "utf8");
    const replayed = replay(await RaftEngine.load(), recorded);
    if (isRewrite) writeFileSync(file, replayed);
    expect(replayed).toBe(isRewrite ? replayed : recorded);
  });

  test("say the same in a second engine, and beside other nodes in the same one", async () => {
    const recorded = readFileSync(new URL("election.txt", folder), "utf8");
    const engine = await RaftEngine.load({ nowMs: () => 0 });
    const first = replay(engine, recorded);
    expect(replay(engine, recorded)).toBe(first);
    expect(replay(await RaftEngine.load({ nowMs: () => performance.now() }), recorded)).toBe(first);
  });
});
