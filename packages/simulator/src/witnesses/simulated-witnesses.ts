import type { WitnessAnswer, WitnessTransport } from "@event-anchoring/control-plane";
import { NoteError, parseSignatureLine, utf8ToBytes, formatCosignatures, bytesToUtf8 } from "@event-anchoring/protocol";
import type { Seeded } from "../world/seeded.ts";
import type { SimulatedProcess } from "../world/simulated-process.ts";
import type { SimulatedWitness } from "./simulated-witness.ts";

const ROUND_TRIP_MS = { low: 2, high: 300 } as const;
/** Shares of requests: without an answer, and with one that is not good. */
const LOST = 0.03;
const SPOILED = 0.03;

export interface SimulatedWitnessesOptions {
  readonly witnesses: readonly SimulatedWitness[];
  readonly random: Seeded;
  readonly nowS: () => number;
  /** Whether nobody answers now: an outage of all. */
  readonly areDown: () => boolean;
}

/** The way to the witnesses: slow, and sometimes no answer comes, or another one than the witness gave. */
export class SimulatedWitnesses {
  readonly #options: SimulatedWitnessesOptions;

  constructor(options: SimulatedWitnessesOptions) {
    this.#options = options;
  }

  transportOf(process: SimulatedProcess): WitnessTransport {
    const { witnesses, random, nowS, areDown } = this.#options;
    return ({ url, body, signal }) =>
      new Promise((resolve, reject) => {
        const refuse = (): void => reject(new Error("no answer"));
        const witness = witnesses.find(({ line }) => url === `${line.url}/add-checkpoint`);
        const answerMs = random.between(ROUND_TRIP_MS.low, ROUND_TRIP_MS.high);
        const fate = random.unit();
        signal.addEventListener("abort", refuse, { once: true });
        // It may have signed although no answer comes.
        process.later(answerMs / 2, () => {
          if (witness === undefined || areDown()) return;
          const answer = witness.addCheckpoint(body, nowS());
          if (fate < LOST) return;
          process.later(answerMs / 2, () => resolve(fate < LOST + SPOILED ? spoiled(answer) : answer));
        });
      });
  }
}

/** A line with a turned bit in its signature. */
function spoiled(answer: WitnessAnswer): WitnessAnswer {
  if (answer.status !== 200) return answer;
  try {
    const line = parseSignatureLine(bytesToUtf8(answer.body).trimEnd());
    const signature = line.signature.map((byte, at) => (at === line.signature.length - 1 ? byte ^ 1 : byte));
    return { ...answer, body: utf8ToBytes(formatCosignatures([{ ...line, signature }])) };
  } catch (error) {
    if (error instanceof NoteError) return answer;
    throw error;
  }
}
