import type { PeerFrame } from "@event-anchoring/control-contract";
import type { ControlPlaneNode } from "@event-anchoring/control-plane";
import type { Certificate } from "@event-anchoring/ledger";
import {
  type Contradiction,
  ContradictionError,
  bytesToHex,
  checkpointOrigin,
  decodeLeaf,
  verifyContradiction,
} from "@event-anchoring/protocol";
import { GIVING_UP_SENTENCES } from "./giving-up.ts";
import { DECEIVES, KEEPS_OFFICE, type LieName, MAY_DECEIVE } from "../lies/all-lies.ts";
import { simulatedCrypto } from "../trust/simulated-crypto.ts";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";
import { WORLD_START_MS } from "../world/simulated-process.ts";
import { Invariants } from "../machine/invariants.ts";

const EVIDENCE_MAX_MS = 5000;
/** Five seconds without a commit, elections, and room. */
const SILENCE_MAX_MS = 10_000;
/** What is learnt at one node and not yet acted upon. */
const REACTION_MS = 1000;
/** A question after 50 ms, the way there and back, slow promise files, and a second question. */
const COSIGNED_MAX_MS = 150;
const DAY_MS = 24 * 60 * 60_000;

const SENTENCES: ReadonlySet<string> = new Set([
  "noNodeDiesOfAnError",
  "theClusterIsBorn",
  "theLiarGoesOnLying",
  "noHonestNodeIsFenced",
  "noHonestNodeHalts",
  "nothingAcknowledgedContradicts",
  "nothingAcknowledgedIsLost",
  "aContradictionIsInEvidence",
  "evidenceNamesTheLiarAlone",
  "aNamedKeyCountsNoMore",
  "aForkedOriginStops",
  "aSilentLeaderIsAbandoned",
  "othersCosignaturesSuffice",
  "onlySignedActsCount",
  "recordedTimeIsNotAhead",
  "theVictimIsMadeWhole",
  ...GIVING_UP_SENTENCES,
]);

/** Invariants that hold only among honest nodes are not checked beside a liar. */
export class LiarInvariants extends Invariants {
  override fail(sentence: string, detail: string): void {
    if (SENTENCES.has(sentence)) super.fail(sentence, detail);
  }
}

type LiveSession = NonNullable<ControlPlaneNode["session"]>;

export interface LiarJudgeOptions {
  readonly nowMs: () => number;
  readonly invariants: Invariants;
  readonly lie: LieName;
  readonly nodes: number;
  readonly quorum: number;
  readonly machines: readonly SimulatedMachine[];
}

/** Checks the promises of honest nodes beside a liar. */
export class LiarJudge {
  readonly #options: LiarJudgeOptions;
  readonly #signed = new SignedRoots();
  /** By origin and depth. */
  readonly #acknowledged = new Map<string, string>();
  /** By machine and origin: since when its files show a certificate over another root. */
  readonly #forked = new Map<string, number>();
  /** By machine: since when its files name the liar. */
  readonly #named = new Map<string, number>();
  readonly #watched = new WeakSet<object>();
  #liar: SimulatedMachine | null = null;
  #victim: SimulatedMachine | null = null;
  #lastAcknowledgedMs = 0;

  constructor(options: LiarJudgeOptions) {
    this.#options = options;
  }

  get acknowledged(): number {
    return this.#acknowledged.size;
  }

  /** Sizes over which two roots were signed. */
  get contradicted(): number {
    return this.#signed.contradicted.length;
  }

  get honest(): readonly SimulatedMachine[] {
    return this.#options.machines.filter((machine) => machine !== this.#liar);
  }

  /** Honest nodes that were not given another log. */
  get told(): readonly SimulatedMachine[] {
    return this.honest.filter((machine) => !this.#isDeceived(machine));
  }

  onLieBegins(liar: SimulatedMachine, victim: SimulatedMachine): void {
    this.#liar = liar;
    this.#victim = victim;
    this.#lastAcknowledgedMs = this.#options.nowMs();
  }

  onDelivered(from: string, to: string, frame: PeerFrame): void {
    if (this.#liar !== null && to !== this.#liar.name) this.#signed.note(from, frame, this.#options.nowMs());
  }

  onAcknowledged(machine: SimulatedMachine, leaf: Uint8Array, anchorId: Uint8Array): void {
    const { invariants, nowMs } = this.#options;
    const { originFingerprint, depth } = decodeLeaf(leaf);
    const place = `${bytesToHex(originFingerprint)} ${depth}`;
    const known = this.#acknowledged.get(place);
    const id = bytesToHex(anchorId);
    this.#lastAcknowledgedMs = nowMs();
    if (known !== undefined && known !== id && this.#excludesOne()) {
      const detail = `depth ${depth} is ${known.slice(0, 8)} and ${id.slice(0, 8)}`;
      invariants.fail("nothingAcknowledgedContradicts", detail);
    }
    const { clusterName } = machine.identity.trustRoot;
    const forkedMs = this.#forked.get(`${machine.name} ${checkpointOrigin(clusterName, originFingerprint)}`);
    if (forkedMs !== undefined && nowMs() - forkedMs > REACTION_MS) {
      invariants.fail("aForkedOriginStops", `${machine.name} acknowledged depth ${depth}`);
    }
    this.#acknowledged.set(place, id);
  }

  /** Called ten times a second while the liar lies. */
  judge(): void {
    const { invariants, lie, nowMs } = this.#options;
    const { name = "", stopped = null } = this.#liar ?? {};
    if (stopped !== null) invariants.fail("theLiarGoesOnLying", `${name}: ${stopped.code}: ${stopped.detail}`);
    for (const machine of this.honest) {
      this.#judgeStopped(machine);
      this.#judgeState(machine);
      this.#judgeEvidence(machine);
      this.#judgeCosignatures(machine);
    }
    const silentMs = nowMs() - this.#lastAcknowledgedMs;
    if (KEEPS_OFFICE.has(lie) && silentMs > SILENCE_MAX_MS) {
      invariants.fail("aSilentLeaderIsAbandoned", `nothing was certified for ${silentMs} ms`);
    }
  }

  /** Whether every honest node that can has everything acknowledged. */
  isAllHeld(): boolean {
    return this.#lacking().length === 0 && this.#victim?.node?.session !== null;
  }

  judgeEnd(): void {
    const { invariants } = this.#options;
    const [lacking] = this.#lacking();
    if (lacking !== undefined) invariants.fail("nothingAcknowledgedIsLost", lacking);
    const victim = this.#victim;
    if (this.#isDeceived(victim) || victim?.node?.session !== null) return;
    invariants.fail("theVictimIsMadeWhole", `${victim.name} does not serve`);
  }

  /** Where one liar is excluded: every honest node that was not lied to about the log has all of it. */
  #lacking(): readonly string[] {
    if (!this.#excludesOne()) return [];
    return this.honest.flatMap((machine) => {
      if (this.#isDeceived(machine)) return [];
      const held = new Set(
        machine.database.applied.flatMap(({ decision }) =>
          decision.writes.leaves.map(({ anchorId }) => bytesToHex(anchorId)),
        ),
      );
      return [...this.#acknowledged].flatMap(([place, id]) => (held.has(id) ? [] : [`${machine.name} lacks ${place}`]));
    });
  }

  #isDeceived(machine: SimulatedMachine | null): boolean {
    const { lie } = this.#options;
    if (machine === this.#victim && DECEIVES.has(lie)) return true;
    return machine !== null && MAY_DECEIVE.has(lie) && this.#holdsAnotherEntry(machine);
  }

  /** Most of the other honest nodes have decided another entry under an index that this one has decided. */
  #holdsAnotherEntry(machine: SimulatedMachine): boolean {
    const others = this.honest.filter((other) => other !== machine);
    const own = termsOf(machine);
    const differing = others.filter((other) =>
      [...termsOf(other)].some(([index, term]) => (own.get(index) ?? term) !== term),
    );
    return differing.length * 2 > others.length;
  }

  /** 2k − n ≥ f + 1, with one liar. */
  #excludesOne(): boolean {
    return 2 * this.#options.quorum - this.#options.nodes >= 2;
  }

  #judgeStopped(machine: SimulatedMachine): void {
    const { invariants } = this.#options;
    const { name, stopped } = machine;
    if (stopped?.reason === "fenced") invariants.fail("noHonestNodeIsFenced", `${name}: ${stopped.detail}`);
    if (stopped?.reason === "halted" && !this.#isDeceived(machine)) {
      invariants.fail("noHonestNodeHalts", `${name}: ${stopped.code}: ${stopped.detail}`);
    }
  }

  #judgeState({ name, node, identity }: SimulatedMachine): void {
    const { invariants, nowMs } = this.#options;
    const { state, membership } = node?.session ?? {};
    if (state === undefined || membership === undefined) return;
    const keys = [...state.apiKeys.values()];
    if (keys.length > 1 || keys.some(({ revokedMs }) => revokedMs !== 0)) {
      invariants.fail("onlySignedActsCount", `${name} has ${keys.length} keys, or one that has ended`);
    }
    if (membership.group.voters().length !== identity.trustRoot.nodes.length) {
      invariants.fail("onlySignedActsCount", `${name} has the voters ${membership.group.voters().join()}`);
    }
    if (state.lastAcceptedMs > WORLD_START_MS + nowMs() + DAY_MS) {
      invariants.fail("recordedTimeIsNotAhead", `${name} is at ${state.lastAcceptedMs}`);
    }
  }

  #judgeEvidence(machine: SimulatedMachine): void {
    const { invariants, nowMs } = this.#options;
    const session = machine.node?.session ?? null;
    if (session === null) return;
    const dueMs = nowMs() - EVIDENCE_MAX_MS;
    const isDue = this.#signed.contradicted.some(({ sinceMs }) => sinceMs < dueMs);
    const isNamedDue = this.#signed.contradicted.some(({ sinceMs, byOne }) => byOne && sinceMs < dueMs);
    const proven = this.#provenBy(machine);
    const named = proven.flatMap((each) => each.named.map((vkey) => vkey.name.split("/").at(-1) ?? ""));
    if (isDue && machine.evidence.size === 0) {
      invariants.fail("aContradictionIsInEvidence", `${machine.name} keeps nothing`);
    }
    if (isNamedDue && !named.includes(this.#liar?.name ?? "")) {
      invariants.fail("aContradictionIsInEvidence", `${machine.name} does not name the liar`);
    }
    const wrong = named.find((name) => name !== this.#liar?.name);
    if (wrong !== undefined) invariants.fail("evidenceNamesTheLiarAlone", `${machine.name} names ${wrong}`);
    if (named.length > 0 && !this.#named.has(machine.name)) this.#named.set(machine.name, nowMs());
    for (const { origin, notes } of proven) {
      const isFork = notes.every(({ certifiedBy }) => certifiedBy.length > 0);
      const key = `${machine.name} ${origin}`;
      if (isFork && !this.#forked.has(key)) this.#forked.set(key, nowMs());
    }
    this.#watchCertificates(machine.name, session);
  }

  /** If enough honest nodes are left, a leader that keeps cosignatures back costs no more than the time to ask. */
  #judgeCosignatures({ name, node }: SimulatedMachine): void {
    const { invariants, lie, quorum } = this.#options;
    const oldestMs = node?.session?.certifying.certifier.uncovered().oldestMs ?? 0;
    if (lie !== "kept_cosignatures" || this.honest.length < quorum || oldestMs <= COSIGNED_MAX_MS) return;
    invariants.fail("othersCosignaturesSuffice", `${name} waits for ${oldestMs} ms`);
  }

  /** What a session certifies by itself; `decide` judges what the log records, and names no node. */
  #watchCertificates(
    name: string,
    {
      certifying: { certifier },
      membership: {
        peers: { memories },
      },
    }: LiveSession,
  ): void {
    if (this.#watched.has(certifier)) return;
    this.#watched.add(certifier);
    const [onRecorded, onCertificate] = [certifier.onRecorded.bind(certifier), memories.onCertificate.bind(memories)];
    let isRecorded = false;
    certifier.onRecorded = (certificate) => {
      isRecorded = true;
      onRecorded(certificate);
      isRecorded = false;
    };
    memories.onCertificate = (certificate) => {
      if (!isRecorded && "checkpoint" in certificate) this.#namedKeyCountsNoMore(name, certificate);
      onCertificate(certificate);
    };
  }

  /** A node that has named a key makes no certificate with its line. */
  #namedKeyCountsNoMore(name: string, { treeSize, cosignatures }: Certificate): void {
    const { invariants, nowMs } = this.#options;
    const namedMs = this.#named.get(name);
    if (namedMs === undefined || nowMs() - namedMs <= REACTION_MS) return;
    if (!cosignatures.some(({ nodeId }) => nodeId === this.#liar?.name)) return;
    invariants.fail("aNamedKeyCountsNoMore", `${name} counts it at size ${treeSize}`);
  }

  /** By its evidence files alone, as a reader with the public keys judges them. */
  #provenBy({ evidence, identity, name }: SimulatedMachine): readonly Contradiction[] {
    return [...evidence.values()].flatMap((text) => {
      try {
        return verifyContradiction(text, [identity.trustRoot], simulatedCrypto);
      } catch (error) {
        if (!(error instanceof ContradictionError)) throw error;
        const detail = `${name} keeps what proves nothing: ${error.code}`;
        this.#options.invariants.fail("evidenceNamesTheLiarAlone", detail);
        return [];
      }
    });
  }
}

/** Terms of all entries that its tables hold, by index. */
function termsOf({ database }: SimulatedMachine): ReadonlyMap<number, number> {
  return new Map(database.applied.map(({ decision: { index, term } }) => [index, term]));
}

/** Which roots were signed over each size, by whom, as far as honest nodes were told. */
class SignedRoots {
  readonly #roots = new Map<string, Map<string, Set<string>>>();
  readonly contradicted: { readonly sinceMs: number; readonly byOne: boolean }[] = [];

  note(from: string, frame: PeerFrame, nowMs: number): void {
    if (frame.type !== "cosignatures") return;
    for (const { originFingerprint, treeSize, rootHash } of frame.items) {
      const key = `${bytesToHex(originFingerprint)} ${treeSize}`;
      const roots = this.#roots.get(key) ?? new Map<string, Set<string>>();
      this.#roots.set(key, roots);
      const root = bytesToHex(rootHash);
      const signers = roots.get(root) ?? new Set<string>();
      if (signers.has(from)) continue;
      roots.set(root, signers.add(from));
      if (roots.size < 2) continue;
      const byOne = [...roots.values()].filter((each) => each.has(from)).length > 1;
      this.contradicted.push({ sinceMs: nowMs, byOne });
    }
  }
}
