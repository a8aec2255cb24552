/** Two lying nodes of three, and the witnesses that they show their trees to. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  RecentTree,
  emptyFrontier,
  formatAddCheckpoint,
  formatCheckpoint,
  formatNote,
  noteMessage,
  noteSignatureLine,
  parseTreeSize,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { growthOf } from "../disks/simulated-witnessed-heads.ts";
import { simulatedSigner } from "../trust/simulated-crypto.ts";
import { Seeded } from "../world/seeded.ts";
import { SimulatedWitness } from "./simulated-witness.ts";
import { WitnessedRoots } from "./witnessed-roots.ts";

const { sha256 } = nodeCrypto;
const ORIGIN = "simulated.example/two-liars";
const STEPS = 200;
const FORK_MAX = 20;

export interface TwoLiarsOptions {
  readonly seed: number;
  readonly witnesses: number;
  /** How many lines make a head witnessed. */
  readonly needed: number;
  /** So many of the witnesses sign whatever they are shown. */
  readonly lying: number;
}

interface Fork {
  readonly tree: RecentTree;
  readonly leaves: Uint8Array[];
}

/**
 * What two nodes of three can do together: they have a quorum of cosigner keys and the log key, so they certify any
 * tree they like. Here they grow two trees with one beginning, and show heads of both to the witnesses, in any order,
 * with true and with false sizes.
 * @returns the size of two witnessed heads with different roots; null: there are none
 */
export function liveAmongTwoLiars({ seed, witnesses: count, needed, lying }: TwoLiarsOptions): number | null {
  const random = new Seeded(seed);
  const roots = new WitnessedRoots(needed);
  const log = simulatedSigner("log of two liars");
  const witnesses = Array.from(
    { length: count },
    (_, at) =>
      new SimulatedWitness({
        name: `w${at}`,
        isLying: at < lying,
        logKeyOf: (origin) => (origin === ORIGIN ? log.publicKey : null),
        onSigned: ({ checkpoint }, witness) => roots.onSigned(checkpoint, witness),
      }),
  );
  const forks = [newFork(), newFork()];
  for (let leaf = random.below(FORK_MAX) + 1; leaf > 0; leaf--) for (const fork of forks) grow(fork, `common ${leaf}`);
  const known = new Map<string, number>();
  for (let step = 0; step < STEPS && roots.contradicted === null; step++) {
    const fork = random.pick(forks);
    if (random.chance(0.4)) grow(fork, `${forks.indexOf(fork)} ${step}`);
    const witness = random.pick(witnesses);
    const treeSize = Math.max(1, fork.tree.size - random.below(3));
    const oldSize = Math.min(treeSize, random.chance(0.8) ? (known.get(witness.name) ?? 0) : random.below(treeSize));
    const { status, body } = witness.addCheckpoint(requestOf(fork, oldSize, treeSize), 1_800_000_000 + step);
    if (status === 409) known.set(witness.name, parseTreeSize(body));
    if (status === 200) known.set(witness.name, treeSize);
  }
  return roots.contradicted;
}

function newFork(): Fork {
  return { tree: new RecentTree(emptyFrontier(), sha256), leaves: [] };
}

function grow({ tree, leaves }: Fork, name: string): void {
  const leaf = sha256(utf8ToBytes(name));
  tree.append(leaf);
  leaves.push(leaf);
}

function requestOf({ tree, leaves }: Fork, oldSize: number, treeSize: number): string {
  const text = formatCheckpoint({ origin: ORIGIN, treeSize, rootHash: tree.rootAt(treeSize) });
  const { publicKey } = simulatedSigner("log of two liars");
  const signature = simulatedSigner("log of two liars").sign(noteMessage(text));
  const checkpoint = formatNote(text, [noteSignatureLine({ name: ORIGIN, publicKey, signature }, sha256)]);
  return formatAddCheckpoint({ oldSize, proof: growthOf(leaves, oldSize, treeSize), checkpoint });
}
