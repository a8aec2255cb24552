import {
  type OpenPromiseFile,
  PromiseFile,
  PromiseFileError,
  type PromiseVolume,
  type Promises,
  type SlotIo,
} from "@event-anchoring/control-plane";
import { newestSlot, slotOffsetOf } from "@event-anchoring/control-contract";
import type { Bugs } from "../planted/planted-bugs.ts";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import { latency } from "../world/simulated-process.ts";
import type { World } from "../world/world.ts";

export interface SimulatedVolumeOptions {
  readonly world: World;
  readonly random: Seeded;
  readonly bugs: Bugs;
}

interface SlotWrite {
  readonly offset: number;
  readonly bytes: Uint8Array;
  /** What the slot says; null: what it said before. */
  readonly promises: Promises | null;
}

/** A copy of the volume. */
export interface VolumeImage {
  readonly bytes: Uint8Array;
  readonly durable: Promises | null;
}

/** The volume that a promise file lives on: a write is durable when it returns, torn if power goes before that. */
export class SimulatedVolume {
  readonly #options: SimulatedVolumeOptions;
  #bytes: Uint8Array = new Uint8Array(0);
  #underWay: SlotWrite | null = null;
  /** Written, reported durable, and only in the page cache. */
  #unsynced: SlotWrite[] = [];
  #durable: Promises | null = null;
  #requested: Promises | null = null;
  slowness = 1;
  failsNext = false;
  /** Called once, in the middle of the next write. */
  onNextWrite: (() => void) | null = null;
  /** Called with each write that has become durable. */
  onSaved: ((promises: Promises) => void) | null = null;

  constructor(options: SimulatedVolumeOptions) {
    this.#options = options;
  }

  /** What a start would find if power went now; null: there is no file. */
  get durable(): Promises | null {
    return this.#durable;
  }

  image(): VolumeImage {
    return { bytes: Uint8Array.from(this.#bytes), durable: this.#durable };
  }

  restore({ bytes, durable }: VolumeImage): void {
    this.#bytes = Uint8Array.from(bytes);
    this.#durable = durable;
    this.#underWay = null;
    this.#unsynced = [];
  }

  /** A file that says this lies here from now on. No process may have the volume open. */
  async replace(promises: Promises): Promise<void> {
    const draft = new SimulatedVolume({ ...this.#options, bugs: new Set() });
    const slots: SlotIo = {
      read: async () => draft.#read(),
      writeSlot: async (offset, bytes) => draft.#store({ offset, bytes, promises: null }),
      sync: async () => {},
      close: async () => {},
    };
    await PromiseFile.createOn(slots, promises);
    this.restore({ ...draft.image(), durable: promises });
  }

  /** A bit turns in the newest slot: what is left is what the one before it says. @returns false: there is no other */
  rotNewest(): boolean {
    const newest = newestSlot(this.#bytes);
    if (newest.state !== "good") return false;
    const at = slotOffsetOf(newest.position.slotClass, newest.position.slot) + 40;
    const rotten = this.#bytes.map((byte, offset) => (offset === at ? byte ^ 1 : byte));
    const older = newestSlot(rotten);
    if (older.state !== "good") return false;
    this.#bytes = rotten;
    this.#durable = older.promises;
    return true;
  }

  /** Power is lost: a write that is under way leaves a part of itself. */
  losePower(): void {
    const torn = this.#underWay;
    this.#underWay = null;
    this.#unsynced = [];
    if (torn === null) return;
    const length = this.#options.random.below(torn.bytes.length + 1);
    const isWhole = length === torn.bytes.length;
    this.#store({
      offset: torn.offset,
      bytes: torn.bytes.subarray(0, length),
      promises: isWhole ? torn.promises : null,
    });
  }

  /** The process is gone, and the machine goes on: what was handed to the kernel is written. */
  forgetProcess(): void {
    const write = this.#underWay;
    this.#underWay = null;
    if (write !== null && this.#options.random.chance(0.5)) this.#store(write);
  }

  openedBy(process: SimulatedProcess): PromiseVolume {
    return {
      open: async () => {
        if (this.#bytes.length === 0) throw new PromiseFileError("missing", "there is no promise file");
        const opened = await PromiseFile.openOn(this.#slots(process));
        const promises = this.#options.bugs.has("promises_not_compared_at_start")
          ? forgetful(opened.promises)
          : opened.promises;
        return { ...opened, promises, file: this.#wrapped(opened.file) };
      },
      create: async (promises) => {
        // A draft is renamed when it is whole: there is no half-made file.
        const draft = new SimulatedVolume({ ...this.#options, bugs: new Set() });
        await PromiseFile.createOn(draft.#slots(process), promises);
        this.#bytes = draft.image().bytes;
        this.#durable = promises;
        const { file } = await PromiseFile.openOn(this.#slots(process));
        return this.#wrapped(file);
      },
    };
  }

  #wrapped(file: PromiseFile): OpenPromiseFile {
    const { bugs } = this.#options;
    const forgets = (promises: Promises): Promises => ({
      ...promises,
      ...(bugs.has("vote_not_in_promise_file") ? { term: 0, vote: 0n } : {}),
      ...(bugs.has("progress_not_kept") ? { peers: new Map() } : {}),
      ...(bugs.has("cosigned_heads_not_in_promise_file") ? { signedHeads: new Map() } : {}),
    });
    return {
      get current() {
        return file.current;
      },
      save: (promises, left) => {
        const kept = forgets(promises);
        this.#requested = kept;
        return file.save(kept, left);
      },
      close: () => file.close(),
    };
  }

  #slots(process: SimulatedProcess): SlotIo {
    return {
      read: async () => this.#read(),
      writeSlot: (offset, bytes) => this.#writeSlot(process, offset, bytes),
      sync: async () => {},
      close: async () => {},
    };
  }

  #read(): Uint8Array {
    const bytes = Uint8Array.from(this.#bytes);
    for (const write of this.#unsynced) bytes.set(write.bytes.subarray(0, bytes.length - write.offset), write.offset);
    return bytes;
  }

  #writeSlot(process: SimulatedProcess, offset: number, bytes: Uint8Array): Promise<void> {
    const { world, random, bugs } = this.#options;
    if (this.failsNext) {
      this.failsNext = false;
      return Promise.reject(new Error("input/output error"));
    }
    if (bugs.has("promise_file_not_saved") && this.#bytes.length > 0) return Promise.resolve();
    const at = bugs.has("promise_single_slot") && offset < 2 * bytes.length ? 0 : offset;
    const write = { offset: at, bytes: Uint8Array.from(bytes), promises: this.#requested };
    if (bugs.has("promise_write_not_synced")) {
      this.#unsynced.push(write);
      world.after(300, () => {
        if (this.#unsynced[0] !== write) return;
        this.#unsynced.shift();
        this.#store(write);
      });
      return Promise.resolve();
    }
    this.#underWay = write;
    const { onNextWrite } = this;
    this.onNextWrite = null;
    if (onNextWrite !== null) world.after(0, onNextWrite);
    const totalMs = latency(random, 0.15, 0.5, this.slowness);
    return new Promise((resolve) => {
      world.after(totalMs * 0.8, () => {
        if (this.#underWay !== write) return;
        this.#underWay = null;
        this.#store(write);
      });
      process.later(totalMs, resolve);
    });
  }

  #store({ offset, bytes, promises }: SlotWrite): void {
    this.#durable = promises ?? this.#durable;
    if (promises !== null) this.onSaved?.(promises);
    const end = offset + bytes.length;
    if (end > this.#bytes.length) {
      const grown = new Uint8Array(end);
      grown.set(this.#bytes);
      this.#bytes = grown;
    }
    this.#bytes.set(bytes, offset);
  }
}

function forgetful(promises: Promises): Promises {
  const postgres = { ...promises.postgres, walPosition: 0n };
  return { ...promises, term: 0, vote: 0n, signedHeads: new Map(), lastAppend: { index: 0, term: 0 }, postgres };
}
