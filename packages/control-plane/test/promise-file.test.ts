import { mkdtempSync, rmSync } from "node:fs";
import { chmod, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { bytesToHex, toOriginFingerprint } from "@event-anchoring/protocol";
import {
  decodePromises,
  encodePromises,
  encodeSlot,
  readSlot,
  slotBytesOf,
  slotOffsetOf,
} from "@event-anchoring/control-contract";
import {
  PromiseFile,
  type PeerPromises,
  type PromiseFileError,
  type Promises,
  type SignedHead,
  type SlotIo,
} from "../src/promises/promise-file.ts";

const filled = (byte: number, length: number): Uint8Array => new Uint8Array(length).fill(byte);

function head(origin: number, treeSize: number, root = 1): SignedHead {
  return {
    originFingerprint: toOriginFingerprint(
      Uint8Array.from({ length: 32 }, (_, at) => (origin >> ((at % 2) * 8)) & 255),
    ),
    treeSize,
    rootHash: filled(root, 32),
    raftIndex: treeSize * 2,
    raftTerm: 3,
    timeS: 1_700_000_000 + treeSize,
  };
}

function heads(...list: SignedHead[]): ReadonlyMap<string, SignedHead> {
  return new Map(list.map((item) => [bytesToHex(item.originFingerprint), item]));
}

const said = (change: Partial<PeerPromises> = {}): ReadonlyMap<string, PeerPromises> => {
  const newest = { epoch: 1, incarnation: 2, lifeId: filled(6, 16), term: 4, index: 20, signature: filled(7, 64) };
  return new Map([["00000000000000b2", { ...newest, ...change }]]);
};

const PROMISES: Promises = {
  clusterId: filled(1, 32),
  nodeId: "a",
  pairId: filled(2, 16),
  incarnation: 1,
  term: 4,
  vote: 0xfedc_ba98_7654_3210n,
  signedHeads: heads(head(9, 10)),
  postgres: { systemIdentifier: "7461234567890123456", timeline: 1, walPosition: 0x1_0000_0000n },
  lastAppend: { index: 21, term: 4 },
  reached: { index: 23, term: 4 },
  peers: said(),
  mayLackNewest: true,
  stateHead: { raftIndex: 40, textHash: new Uint8Array(32).fill(9) },
};

const vote = (term: number, candidate = 1n): Promises => ({ ...PROMISES, term, vote: candidate });

/** Slots in memory. What is written is lost at a power cut until it was synced. */
class MemorySlots implements SlotIo {
  durable = new Uint8Array(0);
  volatile = new Uint8Array(0);
  syncs = 0;
  failNext: "write" | "sync" | null = null;
  gate: Promise<void> | null = null;

  async read(): Promise<Uint8Array> {
    return this.volatile.slice();
  }

  async writeSlot(offset: number, bytes: Uint8Array): Promise<void> {
    if (this.#fails("write")) throw new Error("no space");
    const grown = new Uint8Array(Math.max(this.volatile.length, offset + bytes.length));
    grown.set(this.volatile);
    grown.set(bytes, offset);
    this.volatile = grown;
  }

  async sync(): Promise<void> {
    await this.gate;
    if (this.#fails("sync")) throw new Error("input/output error");
    this.durable = this.volatile.slice();
    this.syncs += 1;
  }

  async close(): Promise<void> {
    this.gate = null;
  }

  powerCut(): void {
    this.volatile = this.durable.slice();
  }

  #fails(step: "write" | "sync"): boolean {
    if (this.failNext !== step) return false;
    this.failNext = null;
    return true;
  }
}

function gate(): { promise: Promise<void>; open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { promise, open };
}

const refusal = async (action: Promise<unknown>): Promise<string> =>
  action.then(
    () => "nothing was refused",
    (error: PromiseFileError) => error.code,
  );

describe("the slot format", () => {
  test("promises survive encoding, whatever the order they were collected in", () => {
    const many: Promises = { ...PROMISES, signedHeads: heads(head(300, 5), head(2, 7), head(9, 10)) };
    const reordered: Promises = { ...PROMISES, signedHeads: heads(head(9, 10), head(300, 5), head(2, 7)) };
    expect(decodePromises(encodePromises(many))).toEqual(reordered);
    expect(encodePromises(many)).toEqual(encodePromises(reordered));
  });

  test("no single flipped bit of a written slot is read as promises", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    await file.close();
    const used = 28 + encodePromises(PROMISES).length;
    const slot = io.durable.slice(0, slotBytesOf(0));
    expect(readSlot(slot).state).toBe("good");
    for (let bit = 0; bit < used * 8; bit++) {
      const flipped = slot.slice();
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readSlot(flipped).state).not.toBe("good");
    }
  });

  test("an intact slot of another format, or with another body, is not read as promises", () => {
    const body = encodePromises(PROMISES);
    const slot = encodeSlot(3, body, slotBytesOf(0));
    expect(readSlot(slot)).toEqual({ state: "good", counter: 3, promises: PROMISES });
    const view = new DataView(slot.buffer);
    for (const format of [0, 2]) {
      view.setUint32(8, format);
      view.setUint32(24, crc32(slot.subarray(28, 28 + body.length), crc32(slot.subarray(0, 24))));
      expect(readSlot(slot)).toEqual({ state: "unknown_format" });
    }
    expect(readSlot(encodeSlot(3, body.slice(0, -8), slotBytesOf(0)))).toEqual({ state: "unknown_format" });
  });

  test("classes lie end to end", () => {
    expect([0, 1, 2].map((slotClass) => slotOffsetOf(slotClass, 0))).toEqual([0, 8192, 24576]);
    expect(slotOffsetOf(1, 1)).toBe(16384);
  });

  test.each([
    ["a vote below zero", { ...PROMISES, vote: -1n }],
    ["a vote beyond 64 bits", { ...PROMISES, vote: 1n << 64n }],
    ["a short pair id", { ...PROMISES, pairId: filled(2, 15) }],
    ["a peer that is not a Raft id", { ...PROMISES, peers: new Map([["b", [...said().values()][0] as PeerPromises]]) }],
    ["a head filed under another origin", { ...PROMISES, signedHeads: new Map([["00", head(9, 10)]]) }],
    ["an unsafe term", { ...PROMISES, term: 2 ** 53 }],
  ])("does not encode %s", (_, promises) => {
    expect(() => encodePromises(promises)).toThrow(RangeError);
  });
});

describe("saving", () => {
  test("a save resolves only when it is durable", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    const held = gate();
    io.gate = held.promise;
    let isSaved = false;
    const saved = file.save(vote(5)).then(() => {
      isSaved = true;
    });
    await new Promise(setImmediate);
    expect(isSaved).toBe(false);
    expect(file.current.term).toBe(4);
    held.open();
    await saved;
    expect(file.current.term).toBe(5);
    io.powerCut();
    expect((await PromiseFile.openOn(io)).promises.term).toBe(5);
  });

  test("saves asked for during a write are taken together, the newest for all", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    const before = io.syncs;
    const held = gate();
    io.gate = held.promise;
    const saves = Array.from({ length: 100 }, (_, at) => file.save(vote(5 + at)));
    held.open();
    await Promise.all(saves);
    expect(io.syncs - before).toBe(2);
    io.powerCut();
    expect((await PromiseFile.openOn(io)).promises.term).toBe(104);
  });

  test.each<[string, Partial<Promises>]>([
    ["a lower term", { term: 3 }],
    ["a second vote in one term", { vote: 7n }],
    ["a vote taken back", { vote: 0n }],
    ["a lower incarnation", { incarnation: 0 }],
    ["another pair", { pairId: filled(3, 16) }],
    ["another node", { nodeId: "b" }],
    ["another cluster", { clusterId: filled(9, 32) }],
    ["a forgotten origin", { signedHeads: new Map() }],
    ["a smaller tree", { signedHeads: heads(head(9, 9)) }],
    ["another root of a signed size", { signedHeads: heads(head(9, 10, 2)) }],
    ["an earlier WAL position", { postgres: { ...PROMISES.postgres, walPosition: 1n } }],
    ["a forgotten peer", { peers: new Map() }],
    ["a log that never reached as far", { reached: { index: 22, term: 4 } }],
    ["a longer log of an earlier term", { reached: { index: 99, term: 3 } }],
    ["no state head", { stateHead: null }],
    ["an older state head", { stateHead: { raftIndex: 39, textHash: new Uint8Array(32) } }],
    ["another state after the same entry", { stateHead: { raftIndex: 40, textHash: new Uint8Array(32).fill(8) } }],
    ["a peer's shorter log", { peers: said({ index: 19 }) }],
    ["a peer's log of an earlier term", { peers: said({ index: 99, term: 3 }) }],
    ["a peer's earlier life", { peers: said({ incarnation: 1 }) }],
  ])("%s is refused and nothing is written", async (_, change) => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    const before = io.volatile.slice();
    expect(await refusal(file.save({ ...PROMISES, ...change }))).toBe("broken_promise");
    expect(io.volatile).toEqual(before);
    await file.save(vote(5));
    expect(file.current.term).toBe(5);
  });

  test("the words of a peer that has left may be gone, and of no other", async () => {
    const peers = new Map([...said(), ["00000000000000aa", [...said().values()][0] as PeerPromises]]);
    const file = await PromiseFile.createOn(new MemorySlots(), { ...PROMISES, peers });
    const kept = { ...PROMISES, peers: said() };
    expect(await refusal(file.save(kept, new Set(said().keys())))).toBe("broken_promise");
    await file.save(kept, new Set(["00000000000000aa"]));
    expect([...file.current.peers.keys()]).toEqual([...said().keys()]);
  });

  test("a save builds on the one before it even if that one is still being written", async () => {
    const file = await PromiseFile.createOn(new MemorySlots(), PROMISES);
    const first = file.save(vote(6));
    expect(await refusal(file.save(vote(5)))).toBe("broken_promise");
    await first;
  });

  test.each(["write", "sync"] as const)(
    "after a failed %s the file is unusable until it is opened again",
    async (step) => {
      const io = new MemorySlots();
      const file = await PromiseFile.createOn(io, PROMISES);
      io.failNext = step;
      const [first, second] = [file.save(vote(5)), file.save(vote(6))];
      expect(await refusal(first)).toBe("unusable");
      expect(await refusal(second)).toBe("unusable");
      expect(await refusal(file.save(vote(7)))).toBe("unusable");
      expect(file.current.term).toBe(4);
      io.powerCut();
      expect((await PromiseFile.openOn(io)).promises.term).toBe(4);
    },
  );

  test("what a failed flush left in the cache is made durable before an open resolves", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    io.failNext = "sync";
    expect(await refusal(file.save(vote(5)))).toBe("unusable");
    expect((await PromiseFile.openOn(io)).promises.term).toBe(5);
    io.powerCut();
    expect((await PromiseFile.openOn(io)).promises.term).toBe(5);
  });

  test("a closed file refuses to save, after finishing what it had begun", async () => {
    const file = await PromiseFile.createOn(new MemorySlots(), PROMISES);
    const begun = file.save(vote(5));
    await file.close();
    await begun;
    expect(await refusal(file.save(vote(6)))).toBe("unusable");
  });
});

describe("crashes", () => {
  test("a write torn at any sector leaves the promises of before, or those of after", async () => {
    for (let torn = 0; torn <= 4096; torn += 128) {
      const io = new MemorySlots();
      const file = await PromiseFile.createOn(io, PROMISES);
      await file.save(vote(5));
      const before = io.durable.slice();
      await file.save({ ...vote(6), signedHeads: heads(head(9, 10), head(1, 1), head(2, 2)) });
      const slot = before.findIndex((byte, at) => byte !== io.durable[at]) < slotBytesOf(0) ? 0 : 1;
      const offset = slotOffsetOf(0, slot);
      const mixed = before.slice();
      mixed.set(io.durable.subarray(offset, offset + torn), offset);
      io.volatile = mixed;
      const { promises } = await PromiseFile.openOn(io);
      expect([5, 6]).toContain(promises.term);
      expect(promises.signedHeads.size).toBe(promises.term === 6 ? 3 : 1);
    }
  });

  test("growing keeps the smaller slots whole, and a torn first large slot falls back to them", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    await file.save(vote(5));
    const many = Array.from({ length: 100 }, (_, at) => head(at, 10));
    await file.save({ ...vote(6), signedHeads: heads(...many) });
    expect(io.durable.length).toBeGreaterThan(slotOffsetOf(1, 0));
    const torn = io.durable.slice();
    torn.fill(0, torn.length - slotBytesOf(1));
    const grownAt = slotOffsetOf(2, 0);
    expect((await PromiseFile.openOn(io)).promises.signedHeads.size).toBe(100);
    io.volatile = io.durable.slice();
    io.volatile.fill(0xaa, grownAt + 100);
    const opened = await PromiseFile.openOn(io);
    expect(opened.promises.term).toBe(5);
    expect(opened.hasDamagedSlot).toBe(true);
  });

  test("one damaged slot is reported and healed; two are torn", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    await file.save(vote(5));
    io.volatile[100] = (io.volatile[100] ?? 0) ^ 1;
    const opened = await PromiseFile.openOn(io);
    expect(opened.hasDamagedSlot).toBe(true);
    expect((await PromiseFile.openOn(io)).hasDamagedSlot).toBe(false);
    io.volatile[100] = (io.volatile[100] ?? 0) ^ 1;
    io.volatile[4096 + 100] = (io.volatile[4196] ?? 0) ^ 1;
    expect(await refusal(PromiseFile.openOn(io))).toBe("torn");
  });

  test("a slot of another build is never passed over for an older one", async () => {
    const io = new MemorySlots();
    const file = await PromiseFile.createOn(io, PROMISES);
    await file.close();
    const { crc32 } = await import("node:zlib");
    const slot = io.volatile.subarray(4096, 8192);
    const view = new DataView(slot.buffer, slot.byteOffset, slot.length);
    view.setUint32(8, 3);
    view.setUint32(24, crc32(slot.subarray(28, 28 + view.getUint32(20)), crc32(slot.subarray(0, 24))));
    expect(await refusal(PromiseFile.openOn(io))).toBe("foreign");
  });
});

describe("on a real disk", () => {
  let folder = "";
  let path = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "promise-"));
    path = join(folder, "promise.bin");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  test("is created once, private, and read back", async () => {
    const file = await PromiseFile.create(path, PROMISES);
    await file.save(vote(9));
    await file.close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await refusal(PromiseFile.create(path, PROMISES))).toBe("exists");
    const opened = await PromiseFile.open(path);
    expect(opened.promises).toEqual(vote(9));
    expect(opened.hasDamagedSlot).toBe(false);
    await opened.file.close();
  });

  test("a file that is not there is missing", async () => {
    expect(await refusal(PromiseFile.open(path))).toBe("missing");
  });

  test.each([0o640, 0o604, 0o644, 0o700, 0o666])("mode %o is refused", async (mode) => {
    await (await PromiseFile.create(path, PROMISES)).close();
    await chmod(path, mode);
    expect(await refusal(PromiseFile.open(path))).toBe("mode");
  });

  test("a link to a promise file is refused", async () => {
    await (await PromiseFile.create(path, PROMISES)).close();
    await symlink(path, join(folder, "link"));
    expect(await refusal(PromiseFile.open(join(folder, "link")))).toBe("mode");
  });

  test.each([
    ["text", "not a promise file", "foreign"],
    ["nothing", "", "torn"],
    ["zeros", "\0".repeat(8192), "torn"],
  ])("a file of %s is refused", async (_, content, code) => {
    await writeFile(path, content, { mode: 0o600 });
    expect(await refusal(PromiseFile.open(path))).toBe(code);
    expect(await readFile(path, "utf8")).toBe(content);
  });

  test("a file in use is locked, and free again after close", async () => {
    const file = await PromiseFile.create(path, PROMISES);
    expect(await refusal(PromiseFile.open(path))).toBe("locked");
    await file.close();
    await (await PromiseFile.open(path)).file.close();
  });

  test("another process keeps the lock while it lives, and a killed one leaves it to the next", async () => {
    await (await PromiseFile.create(path, PROMISES)).close();
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000); process.stdout.write('up')"]);
    try {
      await once(other.stdout, "data");
      const started = (await readFile(`/proc/${other.pid}/stat`, "utf8").catch(() => ""))
        .split(") ")[1]
        ?.split(" ")[19];
      await writeFile(`${path}.lock`, `${other.pid} ${started ?? "-"} 0123456789abcdef\n`);
      expect(await refusal(PromiseFile.open(path))).toBe("locked");
      // The same id, started at another time, is another process.
      if (started !== undefined) {
        await writeFile(`${path}.lock`, `${other.pid} 1 0123456789abcdef\n`);
        await (await PromiseFile.open(path)).file.close();
        await writeFile(`${path}.lock`, `${other.pid} ${started} 0123456789abcdef\n`);
      }
    } finally {
      other.kill("SIGKILL");
      await once(other, "exit");
    }
    await (await PromiseFile.open(path)).file.close();
  });

  test("of many that open at once, one succeeds, stale lock or not", async () => {
    await (await PromiseFile.create(path, PROMISES)).close();
    await writeFile(`${path}.lock`, "1999999999 1 0123456789abcdef\n");
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => PromiseFile.open(path)));
    const opened = results.flatMap((result) => (result.status === "fulfilled" ? [result.value.file] : []));
    expect(opened).toHaveLength(1);
    await opened[0]?.close();
  });
});
