import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_ROOT,
  bytesToHex,
  formatAddCheckpoint,
  formatNote,
  parseNote,
  parseSignatureLine,
  utf8ToBytes,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { StepClock, deferred, quietLogger, seededRandom, settle } from "./doubles.ts";
import {
  EagerStore,
  MemoryDisk,
  MemoryStore,
  WITNESS_VKEY,
  add,
  isCosigned,
  logList,
  turns,
  witnessOf,
} from "./witness-doubles.ts";

const LOG = new ForeignLog("log.example/one");
const FORK = new ForeignLog("log.example/one", (index) => (index < 5 ? String(index) : `other ${index}`));
const OTHER = new ForeignLog("log.example/two");
const UNKNOWN = new ForeignLog("log.example/unknown");

function fresh(): ReturnType<typeof witnessOf> {
  return witnessOf([LOG, OTHER], new MemoryStore(new MemoryDisk()));
}

function body(log: ForeignLog, oldSize: number, treeSize: number, change: { proof?: Uint8Array[]; note?: string }) {
  const { proof = log.proof(oldSize, treeSize), note: checkpoint = log.checkpoint(treeSize) } = change;
  return formatAddCheckpoint({ oldSize, proof, checkpoint });
}

describe("a witness", () => {
  test("cosigns the first head, each one after it, and the same one again", async () => {
    const witness = fresh();
    expect(isCosigned(await add(witness, LOG.request(0, 3)), LOG, 3)).toBe(true);
    expect(isCosigned(await add(witness, LOG.request(3, 10)), LOG, 10)).toBe(true);
    expect(isCosigned(await add(witness, LOG.request(10, 10)), LOG, 10)).toBe(true);
    expect(isCosigned(await add(witness, OTHER.request(0, 1)), OTHER, 1)).toBe(true);
    const note = witness.newestOf(nodeCrypto.sha256(utf8ToBytes(LOG.origin))) ?? "";
    expect(parseNote(note).lines.map(({ name }) => name)).toEqual([LOG.origin, WITNESS_VKEY.name]);
    expect(witness.newestOf(nodeCrypto.sha256(utf8ToBytes(UNKNOWN.origin)))).toBeNull();
    expect(Object.fromEntries(witness.outcomes)).toEqual({ cosigned: 4 });
  });

  test("cosigns an empty tree only with the root of the empty tree", async () => {
    const witness = fresh();
    expect(bytesToHex(LOG.rootAt(0))).toBe(bytesToHex(EMPTY_ROOT));
    expect(isCosigned(await add(witness, LOG.request(0, 0)), LOG, 0)).toBe(true);
    const wrong = LOG.checkpoint(0).replace(/\n0\n.*\n/, `\n0\n${"A".repeat(43)}=\n`);
    expect(await add(witness, body(LOG, 0, 0, { note: wrong }))).toEqual({ kind: "untrusted" });
    expect(isCosigned(await add(witness, LOG.request(0, 4)), LOG, 4)).toBe(true);
  });

  test("signs extension lines with the rest", async () => {
    const note = LOG.checkpoint(2, { extension: "an extension\n" });
    const answer = await add(fresh(), body(LOG, 0, 2, { note }));
    expect(answer.kind).toBe("cosigned");
    const lines = answer.kind === "cosigned" ? [parseSignatureLine(answer.lines.trimEnd())] : [];
    const signed = { text: parseNote(note).text, lines };
    expect(verifyKnownLines(signed, [WITNESS_VKEY], nodeCrypto.ed25519Verify).verified).toHaveLength(1);
  });

  test.each([
    ["bytes that are no request", "hello", "malformed"],
    ["a log that it does not know", UNKNOWN.request(0, 3), "log_unknown"],
    ["an old size above the checkpoint's", body(LOG, 9, 8, { proof: [] }), "malformed"],
    [
      "a signature over another root",
      body(LOG, 4, 8, { note: LOG.checkpoint(8).replace("\n8\n", "\n9\n") }),
      "untrusted",
    ],
    ["the line of another log", body(LOG, 4, 8, { note: LOG.checkpoint(8).replace(/— \S+/, "— other") }), "untrusted"],
    ["a proof of another tree", body(FORK, 4, 8, { proof: LOG.proof(4, 8) }), "inconsistent"],
    ["a proof that is cut", body(LOG, 4, 8, { proof: LOG.proof(4, 8).slice(1) }), "inconsistent"],
    ["no proof", body(LOG, 4, 9, { proof: [] }), "inconsistent"],
    ["a proof where none is needed", body(LOG, 4, 4, { proof: LOG.proof(3, 4) }), "inconsistent"],
    [
      "a text that is too long to keep",
      body(LOG, 4, 8, { note: LOG.checkpoint(8, { extension: `${"x".repeat(5000)}\n` }) }),
      "malformed",
    ],
  ])("refuses %s", async (_, request, kind) => {
    const witness = fresh();
    await add(witness, LOG.request(0, 4));
    expect(await add(witness, request)).toEqual({ kind });
    expect(isCosigned(await add(witness, LOG.request(4, 8)), LOG, 8)).toBe(true);
  });

  test("refuses a proof from zero, and a second root of a size", async () => {
    const witness = fresh();
    expect(await add(witness, body(LOG, 0, 4, { proof: [EMPTY_ROOT] }))).toEqual({ kind: "inconsistent" });
    await add(witness, LOG.request(0, 8));
    const told: string[] = [];
    const logger = { ...quietLogger, error: (event: string) => told.push(event) };
    const store = new MemoryStore(new MemoryDisk());
    const talking = witnessOf([LOG], store, { logger });
    await add(talking, LOG.request(0, 8));
    expect(await add(talking, body(FORK, 8, 8, {}))).toEqual({ kind: "inconsistent" });
    expect(told).toEqual(["witnessed_log_forked"]);
  });

  test("names the size that it holds to whoever names another one", async () => {
    const witness = fresh();
    expect(await add(witness, LOG.request(3, 8))).toEqual({ kind: "size_differs", treeSize: 0 });
    await add(witness, LOG.request(0, 8));
    for (const oldSize of [0, 3, 9]) {
      expect(await add(witness, LOG.request(oldSize, 9))).toEqual({ kind: "size_differs", treeSize: 8 });
    }
  });

  test("ignores lines of keys that are not the log's", async () => {
    const junk = { name: "somebody", keyId: 7, signature: new Uint8Array(64) };
    const note = LOG.checkpoint(3, { lines: [junk] });
    expect(isCosigned(await add(fresh(), body(LOG, 0, 3, { note })), LOG, 3)).toBe(true);
  });

  test("refuses a note in which a line of the log's key is bad or repeated, although another one is good", async () => {
    const { text, lines } = parseNote(LOG.checkpoint(3));
    const [good] = lines;
    if (good === undefined) throw new Error("a checkpoint has a line");
    const bad = { ...good, signature: new Uint8Array(64) };
    for (const note of [formatNote(text, [good, bad]), formatNote(text, [good, good])]) {
      expect(await add(fresh(), body(LOG, 0, 3, { note }))).toEqual({ kind: "untrusted" });
    }
  });
});

describe("time and budget", () => {
  test("a fresh head is answered with the line that is there; an older one is dated anew and saved", async () => {
    const clock = new StepClock();
    const store = new MemoryStore(new MemoryDisk());
    const witness = witnessOf([LOG], store, { clock });
    const first = await add(witness, LOG.request(0, 3));
    const saved = store.current;
    clock.advance(9000);
    expect(await add(witness, LOG.request(3, 3))).toEqual(first);
    expect(store.current).toBe(saved);
    clock.advance(2000);
    const later = await add(witness, LOG.request(3, 3));
    expect(isCosigned(later, LOG, 3)).toBe(true);
    expect(later).not.toEqual(first);
  });

  test("a clock that goes back does not date a larger tree earlier", async () => {
    const clock = new StepClock();
    const store = new MemoryStore(new MemoryDisk());
    const witness = witnessOf([LOG], store, { clock });
    await add(witness, LOG.request(0, 3));
    const before = store.current.heads.get(LOG.origin)?.timeS;
    clock.wall -= 3_600_000;
    await add(witness, LOG.request(3, 5));
    expect(store.current.heads.get(LOG.origin)?.timeS).toBe(before);
  });

  test("only new heads use up what a log may have cosigned", async () => {
    const clock = new StepClock();
    const list = logList(LOG, OTHER).replace(/qpd \d+/, "qpd 86400");
    const witness = witnessOf([LOG, OTHER], new MemoryStore(new MemoryDisk()), { clock, list });
    for (let size = 0; size < 10; size++) {
      expect((await add(witness, LOG.request(size, size + 1))).kind).toBe("cosigned");
      expect((await add(witness, LOG.request(size + 1, size + 1))).kind).toBe("cosigned");
    }
    expect(await add(witness, LOG.request(10, 11))).toEqual({ kind: "limited", retryAfterMs: 1000 });
    expect((await add(witness, LOG.request(10, 10))).kind).toBe("cosigned");
    expect((await add(witness, OTHER.request(0, 11))).kind).toBe("cosigned");
    clock.advance(1000);
    expect((await add(witness, LOG.request(10, 11))).kind).toBe("cosigned");
  });
});

describe("order", () => {
  /** Its saves end when the test says so. */
  class SlowStore extends MemoryStore {
    readonly saves: ReturnType<typeof deferred>[] = [];
    override async save(promises: MemoryStore["current"]): Promise<void> {
      const asked = deferred();
      this.saves.push(asked);
      await asked.promise;
      this.current = promises;
    }
  }

  test("no answer before the promise is durable", async () => {
    const store = new SlowStore(new MemoryDisk());
    const witness = witnessOf([LOG], store);
    let answered = 0;
    const answer = add(witness, LOG.request(0, 3)).finally(() => (answered += 1));
    await settle();
    expect({ saves: store.saves.length, answered }).toEqual({ saves: 1, answered: 0 });
    store.saves[0]?.resolve();
    expect(isCosigned(await answer, LOG, 3)).toBe(true);
  });

  test("a promise that could not be saved is not told, nor is the head held", async () => {
    const store = new SlowStore(new MemoryDisk());
    const witness = witnessOf([LOG], store);
    const answer = add(witness, LOG.request(0, 3));
    await settle();
    store.saves[0]?.reject(new Error("disk"));
    await expect(answer).rejects.toMatchObject({ code: "unavailable" });
    expect(witness.heads().get(LOG.origin)).toBeNull();
  });

  test("of two trees with one old size, one is cosigned; the other one is judged after it", async () => {
    const store = new SlowStore(new MemoryDisk());
    const witness = witnessOf([LOG], store);
    const both = [add(witness, LOG.request(0, 8)), add(witness, FORK.request(0, 8)), add(witness, FORK.request(8, 8))];
    await settle();
    expect(store.saves).toHaveLength(1);
    store.saves[0]?.resolve();
    const [first, second, third] = await Promise.all(both);
    expect(first?.kind).toBe("cosigned");
    expect(second).toEqual({ kind: "size_differs", treeSize: 8 });
    expect(third).toEqual({ kind: "inconsistent" });
  });

  test("a queue that is full takes nothing more", async () => {
    const witness = witnessOf([LOG], new SlowStore(new MemoryDisk()));
    const waiting = Array.from({ length: 32 }, () => add(witness, LOG.request(0, 8)));
    await expect(add(witness, LOG.request(0, 8))).rejects.toMatchObject({ code: "overloaded" });
    expect(waiting).toHaveLength(32);
  });
});

describe("many lives of a witness, a log that forks at every size, and kills at any moment", () => {
  /** The leaves of a tree. */
  type Tree = readonly string[];

  function logOf(tree: Tree): ForeignLog {
    return new ForeignLog(LOG.origin, (index) => tree[index] ?? "");
  }

  /** @returns the trees whose cosignature left */
  async function live(seed: number, storeOf: (disk: MemoryDisk) => MemoryStore): Promise<readonly Tree[]> {
    const fill = seededRandom(seed);
    const below = (count: number): number => {
      const bytes = new Uint8Array(4);
      fill(bytes);
      return new DataView(bytes.buffer).getUint32(0) % count;
    };
    const disk = new MemoryDisk(() => below(12));
    const trees = new Map<string, Tree>([[bytesToHex(EMPTY_ROOT), []]]);
    const told: Tree[] = [];
    for (let life = 0; life < 5; life++) {
      let isAlive = true;
      const store = storeOf(disk);
      const witness = witnessOf([LOG], store);
      for (let round = 0; round < 3; round++) {
        const held = witness.heads().get(LOG.origin)?.checkpoint;
        const old = trees.get(bytesToHex(held?.rootHash ?? EMPTY_ROOT)) ?? [];
        for (const branch of ["left", "right"]) {
          const tree = [...old, ...Array.from({ length: below(3) }, () => `${branch} ${below(1000)}`)];
          const log = logOf(tree);
          trees.set(bytesToHex(log.rootAt(tree.length)), tree);
          void add(witness, log.request(old.length, tree.length)).then(
            (answer) => {
              if (isAlive && isCosigned(answer, log, tree.length)) told.push(tree);
            },
            () => {},
          );
        }
        await turns(below(16));
      }
      isAlive = false;
      disk.crash();
      await turns(16);
    }
    return told;
  }

  function isOneLog(told: readonly Tree[]): boolean {
    const largest = told.reduce((one, other) => (other.length > one.length ? other : one), []);
    return told.every((tree) => tree.every((leaf, index) => leaf === largest[index]));
  }

  test("never have two cosignatures that contradict each other", async () => {
    let count = 0;
    for (let seed = 1; seed <= 20; seed++) {
      const told = await live(seed, (disk) => new MemoryStore(disk));
      expect({ seed, isOneLog: isOneLog(told) }).toEqual({ seed, isOneLog: true });
      count += told.length;
    }
    expect(count).toBeGreaterThan(20);
  });

  test("have them if the answer leaves before the promise is durable: this is seen", async () => {
    const seen: number[] = [];
    for (let seed = 1; seed <= 20 && seen.length === 0; seed++) {
      if (!isOneLog(await live(seed, (disk) => new EagerStore(disk)))) seen.push(seed);
    }
    expect(seen).toHaveLength(1);
  });
});

describe("a witness whose file was set back", () => {
  async function cosignedAt(size: number): Promise<string> {
    const answer = await add(witnessOf([LOG], new MemoryStore(new MemoryDisk())), LOG.request(0, size));
    if (answer.kind !== "cosigned") throw new Error("it was not cosigned");
    return LOG.checkpoint(size, { lines: [parseSignatureLine(answer.lines.trimEnd())] });
  }

  test.each([
    ["a larger tree", 9, LOG],
    ["another root of the size that it holds", 8, FORK],
  ])("signs nothing any more once it is shown its own line over %s", async (_, size, held) => {
    const store = new MemoryStore(new MemoryDisk());
    const witness = witnessOf([LOG, OTHER], store);
    await add(witness, held.request(0, 8));
    const note = await cosignedAt(size);
    await expect(add(witness, body(LOG, 8, size, { note }))).rejects.toMatchObject({ code: "forgot" });
    await expect(add(witness, OTHER.request(0, 1))).rejects.toMatchObject({ code: "forgot" });
    expect(store.current.isSpent).toBe(true);
    await expect(add(witnessOf([OTHER], store), OTHER.request(0, 1))).rejects.toMatchObject({ code: "forgot" });
  });

  test("is not stopped by a line of its name that it has not made, nor by what it knows", async () => {
    const witness = witnessOf([LOG], new MemoryStore(new MemoryDisk()));
    const forged = (await cosignedAt(9)).replace(/(witness\S+ \S{30})..../, "$1AAAA");
    expect((await add(witness, body(LOG, 0, 9, { note: forged }))).kind).toBe("cosigned");
    expect((await add(witness, body(LOG, 9, 9, { note: await cosignedAt(9) }))).kind).toBe("cosigned");
  });
});
