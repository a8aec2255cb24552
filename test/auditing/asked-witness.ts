/** How a log on paper asks its witness, as a node of ours does; and the lines that it was given. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parseNote } from "@event-anchoring/protocol";
import type { TrustRootWitness } from "@event-anchoring/protocol";
import type { WitnessLine } from "@event-anchoring/control-contract";
import { httpWitnessTransport } from "../../packages/control-plane/src/process/witness-http.ts";
import { submitHead } from "../../packages/control-plane/src/witnessing/submit-head.ts";
import type { SubmitOutcome } from "../../packages/control-plane/src/witnessing/submit-head.ts";
import { isGoodWitnessLine, noteWithLines } from "../../packages/control-plane/src/witnessing/witness-lines.ts";
import type { AuditedLog } from "./audited-log.ts";

const ANSWER_WITHIN_MS = 10_000;

export class AskedWitness {
  readonly #witness: TrustRootWitness;
  readonly #transport = httpWitnessTransport();
  /** By the checkpoint without it. */
  readonly #notes = new Map<string, string>();

  constructor(witness: TrustRootWitness) {
    this.#witness = witness;
  }

  /** Asks for a line over the first `size` leaves of an origin. A line is kept. */
  async submit(log: AuditedLog, at: number, size = log.size(at)): Promise<SubmitOutcome> {
    const checkpoint = log.checkpoint(at, size);
    const { text } = parseNote(checkpoint);
    const proveGrowth = async (oldSize: number) => log.growth(at, oldSize, size);
    const isGood = (line: WitnessLine) => isGoodWitnessLine(this.#witness, text, line, nodeCrypto);
    const parts = { transport: this.#transport, isGood, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) };
    const outcome = await submitHead({ treeSize: size, checkpoint, proveGrowth }, this.#witness, 0, parts);
    if (outcome.kind === "line")
      this.#notes.set(checkpoint, noteWithLines(checkpoint, [outcome.line], log.newest, nodeCrypto.sha256));
    return outcome;
  }

  /** The checkpoint with the witness's line, if it has given one. */
  readonly witnessed = (checkpoint: string): string => this.#notes.get(checkpoint) ?? checkpoint;
}
