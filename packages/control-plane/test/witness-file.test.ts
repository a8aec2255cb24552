import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { formatWitnessPromises, parseWitnessPromises } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { LockHeldError } from "../src/promises/promise-lock.ts";
import { WitnessFile } from "../src/witness/witness-file.ts";
import { MemoryDisk, MemoryStore, NO_PROMISES, add, isCosigned, witnessOf } from "./witness-doubles.ts";

const LOG = new ForeignLog("log.example/one");
const FORK = new ForeignLog("log.example/one", (index) => `other ${index}`);
const open = (path: string): Promise<WitnessFile> => WitnessFile.open(path, nodeCrypto);

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "witness-"));
  path = join(folder, "witness.promises");
  await writeFile(path, formatWitnessPromises(NO_PROMISES), { mode: 0o600 });
});
afterEach(() => rm(folder, { recursive: true }));

/** What a witness of this log holds at this size. */
async function promisesAt(log: ForeignLog, treeSize: number) {
  const store = new MemoryStore(new MemoryDisk());
  await add(witnessOf([log], store), log.request(0, treeSize));
  return store.current;
}

describe("the file of a witness's promises", () => {
  test("holds over a restart what was cosigned", async () => {
    const first = await open(path);
    const cosigned = await add(witnessOf([LOG], first), LOG.request(0, 8));
    expect(isCosigned(cosigned, LOG, 8)).toBe(true);
    await first.close();
    const second = await open(path);
    const witness = witnessOf([LOG], second);
    expect(await add(witness, LOG.request(0, 9))).toEqual({ kind: "size_differs", treeSize: 8 });
    expect(await add(witness, FORK.request(8, 8))).toEqual({ kind: "inconsistent" });
    expect(isCosigned(await add(witness, LOG.request(8, 9)), LOG, 9)).toBe(true);
    await second.close();
  });

  test("takes back nothing: no smaller size, no second root, no other key, no key that was spent", async () => {
    const file = await open(path);
    await file.save(await promisesAt(LOG, 8));
    await expect(file.save(await promisesAt(LOG, 7))).rejects.toThrow("size 7 after 8");
    await expect(file.save(await promisesAt(FORK, 8))).rejects.toThrow("a second root of size 8");
    await expect(file.save(NO_PROMISES)).rejects.toThrow("no head of log.example/one");
    const { current } = file;
    const other = { ...current.vkey, name: "witness.example/w2" };
    await expect(file.save({ ...current, vkey: other })).rejects.toThrow("another key");
    await file.save({ ...current, isSpent: true });
    await expect(file.save(current)).rejects.toThrow("spent");
    await file.close();
  });

  test.each([
    ["before", async () => {}],
    ["after", (at: string, text: string) => writeFile(at, text)],
  ])("that fails %s the write is used no more; the next start reads what is there", async (when, write) => {
    const failing = await WitnessFile.open(path, nodeCrypto, async (at, text) => {
      await write(at, text);
      throw new Error("disk");
    });
    const witness = witnessOf([LOG], failing);
    await expect(add(witness, LOG.request(0, 8))).rejects.toMatchObject({ code: "unavailable" });
    await expect(add(witness, LOG.request(0, 9))).rejects.toMatchObject({ code: "unavailable" });
    await failing.close();
    const next = await open(path);
    expect(next.current.heads.get(LOG.origin)?.checkpoint.treeSize ?? 0).toBe(when === "after" ? 8 : 0);
    await next.close();
  });

  test("a draft that a killed process has left is no promise", async () => {
    await writeFile(`${path}.new`, "half a dra");
    const file = await open(path);
    await file.save(await promisesAt(LOG, 3));
    await file.close();
    const again = await open(path);
    expect(again.current.heads.size).toBe(1);
    await again.close();
  });

  test("is never made anew, is for its owner alone, and for one process", async () => {
    await expect(open(join(folder, "gone"))).rejects.toMatchObject({ code: "ENOENT" });
    const file = await open(path);
    await expect(open(path)).rejects.toThrow(LockHeldError);
    await file.close();
    await chmod(path, 0o644);
    await expect(open(path)).rejects.toThrow("readable by others");
  });

  test("with any one byte altered is refused, or says the same", async () => {
    const good = await promisesAt(LOG, 8);
    const text = formatWitnessPromises(good);
    const heads = (of: typeof good): unknown => [...of.heads].map(([origin, { checkpoint }]) => [origin, checkpoint]);
    let refused = 0;
    for (let index = 0; index < text.length; index++) {
      const altered = text.slice(0, index) + String.fromCharCode(text.charCodeAt(index) ^ 1) + text.slice(index + 1);
      try {
        expect(heads(parseWitnessPromises(altered, nodeCrypto))).toEqual(heads(good));
      } catch (error) {
        if (!(error instanceof Error) || error.name !== "WitnessPromisesError") throw error;
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(text.length / 2);
    await writeFile(path, text.slice(0, -40));
    await expect(open(path)).rejects.toThrow("not JSON");
    expect(await readFile(path, "utf8")).not.toBe(text);
  });
});
