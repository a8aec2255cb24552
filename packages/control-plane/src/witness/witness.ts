/** A node as a witness of other logs: C2SP tlog-witness. */
import { isSignedByLog } from "@event-anchoring/control-contract";
import type { CosignedCheckpoint, WitnessAnswer, WitnessedLog } from "@event-anchoring/control-contract";
import type { Signer } from "@event-anchoring/node-crypto";
import {
  AddCheckpointError,
  EMPTY_ROOT,
  cosignatureLine,
  cosignatureMessage,
  equalBytes,
  formatCosignatures,
  formatNote,
  parseAddCheckpoint,
  utf8ToBytes,
  bytesToHex,
  verifyConsistency,
  verifyKnownLines,
} from "@event-anchoring/protocol";
import type { Crypto, SignatureLine, SubmittedCheckpoint, Vkey } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import { HeadBudget } from "./head-budget.ts";
import type { WitnessStore } from "./witness-file.ts";

/** Requests that wait for the ones before them; further ones are refused. */
const WAITING_MAX = 32;
/** A head that was cosigned within this time is answered with the line that is there: nobody can make us write more. */
const FRESH_S = 10;
/** Bytes of a checkpoint's text: what the file keeps of each log. */
const TEXT_LENGTH_MAX = 4096;

/** It cannot answer now. `forgot`: never again under this key. */
export class WitnessUnavailableError extends Error {
  readonly code: "overloaded" | "unavailable" | "forgot";
  constructor(code: WitnessUnavailableError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "WitnessUnavailableError";
    this.code = code;
  }
}

export interface WitnessOptions {
  /** By origin. */
  readonly logs: ReadonlyMap<string, WitnessedLog>;
  readonly store: WitnessStore;
  readonly signer: Signer;
  readonly crypto: Crypto;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Outcome = WitnessAnswer["kind"] | WitnessUnavailableError["code"];

/**
 * Cosigns the checkpoints of other logs, each consistent with the one before.
 *
 * Invariant: no cosignature leaves before the store holds its size and root durably, and the store takes no second root
 * of a size and no smaller size. Requests are judged one at a time, from the comparison with what is held to the
 * answer: so two with one old size cannot both be good.
 */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #vkey: Vkey;
  readonly #budgets: ReadonlyMap<string, HeadBudget>;
  readonly #outcomes = new Map<Outcome, number>();
  #lane: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
    this.#vkey = options.store.current.vkey;
    this.#budgets = new Map(
      [...options.logs].map(([origin, { headsPerDay }]) => [origin, new HeadBudget(headsPerDay, options.clock)]),
    );
  }

  /** How many requests had which outcome. */
  get outcomes(): ReadonlyMap<string, number> {
    return this.#outcomes;
  }

  /** The newest of each log that it witnesses; null: none yet. */
  heads(): ReadonlyMap<string, CosignedCheckpoint | null> {
    const { logs, store } = this.#options;
    return new Map([...logs.keys()].map((origin) => [origin, store.current.heads.get(origin) ?? null]));
  }

  get isSpent(): boolean {
    return this.#options.store.current.isSpent;
  }

  /** The whole note, with the lines of the log and of this witness. @param originHash SHA-256 of the log's origin */
  newestOf(originHash: Uint8Array): string | null {
    const { store, crypto } = this.#options;
    for (const [origin, { note }] of store.current.heads) {
      if (equalBytes(crypto.sha256(utf8ToBytes(origin)), originHash)) return note;
    }
    return null;
  }

  /**
   * @param body of the request; attacker-controlled
   * @throws WitnessUnavailableError (as a rejection)
   */
  async add(body: Uint8Array): Promise<WitnessAnswer> {
    try {
      const answer = await this.#add(body);
      this.#count(answer.kind);
      return answer;
    } catch (error) {
      if (error instanceof WitnessUnavailableError) this.#count(error.code);
      throw error;
    }
  }

  #count(outcome: Outcome): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }

  /** The order of the standard: 404, 403, 400, then what depends on the checkpoint that is held. */
  async #add(body: Uint8Array): Promise<WitnessAnswer> {
    const submitted = readSubmitted(body);
    if (submitted === null) return { kind: "malformed" };
    const { logs, crypto } = this.#options;
    const log = logs.get(submitted.checkpoint.origin);
    if (log === undefined) return { kind: "log_unknown" };
    if (!isSignedByLog(submitted, log, crypto)) return { kind: "untrusted" };
    if (submitted.oldSize > submitted.checkpoint.treeSize) return { kind: "malformed" };
    return this.#inTurn(() => this.#judge(submitted));
  }

  async #inTurn(judge: () => Promise<WitnessAnswer>): Promise<WitnessAnswer> {
    if (this.#waiting >= WAITING_MAX) throw new WitnessUnavailableError("overloaded", `${WAITING_MAX} requests wait`);
    this.#waiting += 1;
    const answer = this.#lane.then(judge);
    // Whoever asked hears of a failure; the next in turn is judged all the same.
    this.#lane = answer.catch(() => {});
    try {
      return await answer;
    } finally {
      this.#waiting -= 1;
    }
  }

  async #judge(submitted: SubmittedCheckpoint): Promise<WitnessAnswer> {
    const { store, crypto } = this.#options;
    const { checkpoint, oldSize, proof, note } = submitted;
    await this.#assertRemembered(submitted);
    const held = store.current.heads.get(checkpoint.origin) ?? null;
    const heldSize = held?.checkpoint.treeSize ?? 0;
    if (oldSize !== heldSize) return { kind: "size_differs", treeSize: heldSize };
    const oldRoot = held?.checkpoint.rootHash ?? EMPTY_ROOT;
    const claim = { oldSize, oldRoot, size: checkpoint.treeSize, root: checkpoint.rootHash, path: proof };
    if (!verifyConsistency(claim, crypto.sha256)) {
      this.#tellInconsistent(submitted, held);
      return { kind: "inconsistent" };
    }
    if (held?.text === note.text && this.#nowS() - held.timeS < FRESH_S) {
      return { kind: "cosigned", lines: formatCosignatures([this.#ownLineOf(held)]) };
    }
    return this.#cosign(submitted, held);
  }

  async #cosign(submitted: SubmittedCheckpoint, held: CosignedCheckpoint | null): Promise<WitnessAnswer> {
    const { checkpoint, note } = submitted;
    const budget = this.#budgets.get(checkpoint.origin);
    const retryAfterMs = budget?.waitMs() ?? 0;
    if (retryAfterMs > 0) return { kind: "limited", retryAfterMs: Math.min(retryAfterMs, 0xffff_ffff) };
    // A clock that went back must not date the larger tree before the smaller one.
    const timeS = Math.max(this.#nowS(), held?.timeS ?? 0);
    const line = this.#sign(timeS, note.text);
    const logLines = note.lines.filter(({ name, keyId }) => this.#isKeyOfLog(checkpoint.origin, name, keyId));
    const cosigned = { checkpoint, text: note.text, timeS, note: formatNote(note.text, [...logLines, line]) };
    // First durable, then told: a kill between the two loses an answer and no promise.
    await this.#save({ heads: new Map(this.#options.store.current.heads).set(checkpoint.origin, cosigned) });
    budget?.spend();
    return { kind: "cosigned", lines: formatCosignatures([line]) };
  }

  async #save(change: Partial<WitnessStore["current"]>): Promise<void> {
    const { store, logger } = this.#options;
    try {
      await store.save({ ...store.current, ...change });
    } catch (cause) {
      logger.error("witness_save_failed", { error: cause });
      throw new WitnessUnavailableError("unavailable", "the promises of the witness could not be saved", { cause });
    }
  }

  /**
   * A cosignature of this witness over a tree that it does not hold proves that its file was set back: nothing leaves
   * before the file has it. From then on nothing is signed under this key.
   */
  async #assertRemembered({ note, checkpoint }: SubmittedCheckpoint): Promise<void> {
    const { store, crypto, logger } = this.#options;
    if (!this.isSpent) {
      const held = store.current.heads.get(checkpoint.origin)?.checkpoint;
      const isHeld = held !== undefined && held.treeSize >= checkpoint.treeSize;
      const isOther = held?.treeSize === checkpoint.treeSize && !equalBytes(held.rootHash, checkpoint.rootHash);
      if (isHeld && !isOther) return;
      const { verified } = verifyKnownLines(note, [this.#vkey], crypto.ed25519Verify);
      if (verified.length === 0) return;
      const known = held?.treeSize ?? 0;
      logger.error("witness_forgot", {
        origin: checkpoint.origin,
        signed_size: checkpoint.treeSize,
        known_size: known,
      });
      await this.#save({ isSpent: true });
    }
    throw new WitnessUnavailableError("forgot", "this witness has signed what it does not remember");
  }

  /** Two roots of one size, signed by the log, are a proof; a proof that leads nowhere may come from anybody. */
  #tellInconsistent({ checkpoint, note }: SubmittedCheckpoint, held: CosignedCheckpoint | null): void {
    const { origin, treeSize, rootHash } = checkpoint;
    const { logger } = this.#options;
    const fields = { origin, size: treeSize, root: bytesToHex(rootHash) };
    const isFork = held?.checkpoint.treeSize === treeSize && !equalBytes(held.checkpoint.rootHash, rootHash);
    if (!isFork) {
      logger.warn("witnessed_log_inconsistent", { ...fields, cosigned_size: held?.checkpoint.treeSize ?? 0 });
      return;
    }
    const logLines = note.lines.filter(({ name, keyId }) => this.#isKeyOfLog(origin, name, keyId));
    logger.error("witnessed_log_forked", { ...fields, cosigned: held.note, refused: formatNote(note.text, logLines) });
  }

  #isKeyOfLog(origin: string, name: string, keyId: number): boolean {
    const vkeys = this.#options.logs.get(origin)?.vkeys ?? [];
    return vkeys.some((vkey) => vkey.name === name && vkey.keyId === keyId);
  }

  #sign(timeS: number, text: string): SignatureLine {
    const { signer, crypto } = this.#options;
    const signature = signer.sign(cosignatureMessage(timeS, text));
    const { name } = this.#vkey;
    return cosignatureLine({ name, publicKey: signer.publicKey, timeS, signature }, crypto.sha256);
  }

  /** RFC 8032 signs deterministically: the same time and text have the same line. */
  #ownLineOf({ timeS, text }: CosignedCheckpoint): SignatureLine {
    return this.#sign(timeS, text);
  }

  #nowS(): number {
    return Math.floor(this.#options.clock.wallMs() / 1000);
  }
}

function readSubmitted(body: Uint8Array): SubmittedCheckpoint | null {
  try {
    const submitted = parseAddCheckpoint(body);
    return submitted.note.text.length > TEXT_LENGTH_MAX ? null : submitted;
  } catch (error) {
    if (error instanceof AddCheckpointError) return null;
    throw error;
  }
}
