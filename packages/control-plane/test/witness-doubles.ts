import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { parseWitnessedLogs } from "@event-anchoring/control-contract";
import type { WitnessAnswer, WitnessPromises } from "@event-anchoring/control-contract";
import {
  VKEY_TYPE,
  formatCheckpoint,
  makeVkey,
  parseCosignatures,
  utf8ToBytes,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import type { ForeignLog } from "@event-anchoring/testkit/records";
import { Witness } from "../src/witness/witness.ts";
import type { WitnessStore } from "../src/witness/witness-file.ts";
import { StepClock, quietLogger } from "./doubles.ts";

const SIGNER = createSigner(new Uint8Array(32).fill(7));
export const WITNESS_VKEY = makeVkey("witness.example/w1", VKEY_TYPE.cosignature, SIGNER.publicKey, nodeCrypto.sha256);
export const NO_PROMISES: WitnessPromises = { vkey: WITNESS_VKEY, isSpent: false, heads: new Map() };

export function logList(...logs: readonly ForeignLog[]): string {
  return ["logs/v0", ...logs.map(({ vkey }) => `vkey ${vkey}\nqpd 864000`), ""].join("\n");
}

export function witnessOf(
  logs: readonly ForeignLog[],
  store: WitnessStore,
  { clock = new StepClock(), logger = quietLogger, list = logList(...logs) } = {},
): Witness {
  const listed = parseWitnessedLogs(list, nodeCrypto.sha256);
  return new Witness({ logs: listed, store, signer: SIGNER, crypto: nodeCrypto, clock, logger });
}

export function add(witness: Witness, body: string): Promise<WitnessAnswer> {
  return witness.add(utf8ToBytes(body));
}

/** Whether an answer is one good line of the witness over this tree of the log. */
export function isCosigned(answer: WitnessAnswer, log: ForeignLog, treeSize: number): boolean {
  if (answer.kind !== "cosigned") return false;
  const lines = parseCosignatures(utf8ToBytes(answer.lines));
  const text = formatCheckpoint({ origin: log.origin, treeSize, rootHash: log.rootAt(treeSize) });
  const { verified } = verifyKnownLines({ text, lines }, [WITNESS_VKEY], nodeCrypto.ed25519Verify);
  return lines.length === 1 && verified.length === 1;
}

/** Lets what waits for other promises go on by so many steps. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await Promise.resolve();
}

/** A disk in memory. `crash` kills the process: its writes under way are durable or lost, and it makes no others. */
export class MemoryDisk {
  durable: WitnessPromises = NO_PROMISES;
  readonly #turnsOf: () => number;
  #life = 0;
  #underWay: WitnessPromises[] = [];

  /** @param turnsOf how many turns the next write takes; of a write that a crash meets, an odd number saves it */
  constructor(turnsOf: () => number = () => 1) {
    this.#turnsOf = turnsOf;
  }

  crash(): void {
    this.#life += 1;
    for (const promises of this.#underWay) if (this.#turnsOf() % 2 === 1) this.durable = promises;
    this.#underWay = [];
  }

  /** A way to write for the process that lives now. It never resolves after a crash. */
  open(): (promises: WitnessPromises) => Promise<void> {
    const life = this.#life;
    return async (promises) => {
      if (life === this.#life) this.#underWay.push(promises);
      await turns(this.#turnsOf());
      if (life !== this.#life) return new Promise(() => {});
      this.#underWay = this.#underWay.filter((other) => other !== promises);
      this.durable = promises;
      return undefined;
    };
  }
}

/** It resolves when the disk has the promises. Unlike the file, it does not look whether they take anything back. */
export class MemoryStore implements WitnessStore {
  current: WitnessPromises;
  protected readonly write: (promises: WitnessPromises) => Promise<void>;

  constructor(disk: MemoryDisk) {
    this.write = disk.open();
    this.current = disk.durable;
  }

  async save(promises: WitnessPromises): Promise<void> {
    await this.write(promises);
    this.current = promises;
  }
}

/** The planted bug: it says that it has saved, and saves then. */
export class EagerStore extends MemoryStore {
  override save(promises: WitnessPromises): Promise<void> {
    void this.write(promises);
    this.current = promises;
    return Promise.resolve();
  }
}
