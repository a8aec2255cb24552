import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { Seeded } from "@event-anchoring/simulator";
import { type CrosscheckAnswer, CrosscheckProcess, availableSdks } from "@event-anchoring/testkit";
import { type Sample, readCorpus } from "../mutations/corpus.ts";
import { mutated } from "../mutations/mutate.ts";
import { CHECKOUT } from "./checkout.ts";
import type { Batch, Gate } from "./gate.ts";

/** Questions that are asked before the first is answered. */
const AT_A_TIME = 64;
const LANGUAGES = 3;
const SHOWN_MAX = 1000;
/** As JSON writes it; a backslash before it would be a text that says so. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** What was changed is judged alike in three languages, by its reason too. */
export const MUTATIONS: Gate = {
  name: "mutations",
  counts: "mutated receipts, proofs, bundles and trust roots, judged by the SDKs of three languages",
  fails: "a verdict, step or reason in which two SDKs differ",
  toReach: 1_000_000,
  firstStop: 100_000,
  sources: [
    "packages/protocol/src",
    "packages/records/src",
    "packages/bundle/src",
    "packages/sdk-typescript/src",
    "packages/sdk-python/src",
    "packages/sdk-rust/src",
  ],
  missing: () => availableSdks().missing[0] ?? null,
  run: async (batch) => {
    const { sdks } = availableSdks();
    if (sdks.length !== LANGUAGES) throw new Error("an SDK is missing");
    const running = sdks.map((command) => new CrosscheckProcess(command));
    try {
      const corpus = readCorpus(join(CHECKOUT, "test/vectors"));
      for (let from = batch.from; !batch.isOver(); from += AT_A_TIME) {
        const seeds = Array.from({ length: AT_A_TIME }, (_, at) => from + at);
        await Promise.all(seeds.map((seed) => judge(seed, corpus, running, batch)));
      }
    } finally {
      for (const sdk of running) sdk.end();
    }
  },
};

async function judge(
  seed: number,
  corpus: readonly Sample[],
  running: readonly CrosscheckProcess[],
  { note, fail }: Batch,
): Promise<void> {
  const dice = new Seeded(seed, 21);
  const { kind, text, about } = dice.pick(corpus);
  const question = about(mutated(text, dice));
  // A question is a line of JSON, in which a lone surrogate cannot come to Rust.
  if (question === null || LONE_SURROGATE.test(JSON.stringify(question))) return note(0, seed, { "not asked": 1 });
  const answers = await Promise.all(
    running.map((sdk) =>
      sdk.ask(question).catch((error: unknown) => {
        fail({ seed: String(seed), what: `${kind}: ${String(error)}`.slice(0, SHOWN_MAX) });
        throw error;
      }),
    ),
  );
  const [first] = answers;
  const isSame = answers.every((answer) => isDeepStrictEqual(answer, first));
  note(1, seed, { [`${kind}: ${verdictOf(first)}`]: 1 });
  if (isSame) return;
  const told = answers.map((answer, at) => `${running[at]?.language}: ${JSON.stringify(answer)}`).join("; ");
  fail({ seed: String(seed), what: `${kind}: ${told}`.slice(0, SHOWN_MAX) });
}

/** What most of the mutations should not come to: all refused at the first look would prove little. */
function verdictOf(answer: CrosscheckAnswer | undefined): string {
  if (answer?.ok === undefined) return "malformed";
  const { verdict, outcome } = answer.ok;
  return String(verdict ?? outcome);
}
