import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import { Seeded } from "@event-anchoring/simulator";
import {
  ANCHORCTL,
  type CrosscheckAnswer,
  CrosscheckProcess,
  PROOF_PAGE,
  type SdkCommand,
  availableSdks,
} from "@event-anchoring/testkit";
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

/** Who judges. */
interface Verifier {
  readonly program: CrosscheckProcess;
  /** It judges a receipt of a file, which the question must have. */
  readonly needsFile: boolean;
  /** What it tells of a verdict; null: all. */
  readonly tells: readonly string[] | null;
}

/** What was changed is judged alike in three languages, by the command line and by the page, by its reason too. */
export const MUTATIONS: Gate = {
  name: "mutations",
  counts: "mutated receipts, proofs, bundles and trust roots, judged by three SDKs, and of files by anchorctl and page",
  fails: "a verdict, step or reason in which two of them differ",
  toReach: 1_000_000,
  firstStop: 100_000,
  sources: [
    "packages/protocol/src",
    "packages/records/src",
    "packages/bundle/src",
    "packages/sdk-typescript/src",
    "packages/sdk-python/src",
    "packages/sdk-rust/src",
    "packages/verdicts/src",
    "packages/explorer/src/check",
    "packages/explorer/src/given",
    "packages/cli/src/commands",
    "packages/cli/src/files",
    "packages/cli/src/reports",
  ],
  missing: () => availableSdks().missing[0] ?? null,
  run: async (batch) => {
    const { sdks } = availableSdks();
    if (sdks.length !== LANGUAGES) throw new Error("an SDK is missing");
    const running = [
      ...sdks.map((sdk) => verifierOf(sdk, false, null)),
      verifierOf(ANCHORCTL, true, null),
      verifierOf(PROOF_PAGE, true, ["verdict", "step", "code"]),
    ];
    try {
      const corpus = readCorpus(join(CHECKOUT, "test/vectors"));
      for (let from = batch.from; !batch.isOver(); from += AT_A_TIME) {
        const seeds = Array.from({ length: AT_A_TIME }, (_, at) => from + at);
        await Promise.all(seeds.map((seed) => judge(seed, corpus, running, batch)));
      }
    } finally {
      for (const { program } of running) program.end();
    }
  },
};

function verifierOf(command: SdkCommand, needsFile: boolean, tells: Verifier["tells"]): Verifier {
  return { program: new CrosscheckProcess(command), needsFile, tells };
}

async function judge(
  seed: number,
  corpus: readonly Sample[],
  verifiers: readonly Verifier[],
  { note, fail }: Batch,
): Promise<void> {
  const dice = new Seeded(seed, 21);
  const { kind, text, about } = dice.pick(corpus);
  const question = about(mutated(text, dice));
  // A question is a line of JSON, in which a lone surrogate cannot come to Rust.
  if (question === null || LONE_SURROGATE.test(JSON.stringify(question))) return note(0, seed, { "not asked": 1 });
  const asked = verifiers.filter(({ needsFile }) => !needsFile || "content" in question);
  const answers = await Promise.all(
    asked.map(({ program }) =>
      program.ask(question).catch((error: unknown) => {
        fail({ seed: String(seed), what: `${kind}: ${String(error)}`.slice(0, SHOWN_MAX) });
        throw error;
      }),
    ),
  );
  const [first] = answers;
  const ofFiles = asked.length === verifiers.length ? { "by command and page, too": 1 } : {};
  note(1, seed, { [`${kind}: ${verdictOf(first)}`]: 1, ...ofFiles });
  if (answers.every((answer, at) => isAlike(answer, first, asked[at]?.tells ?? null))) return;
  const told = answers.map((answer, at) => `${asked[at]?.program.language}: ${JSON.stringify(answer)}`).join("; ");
  fail({ seed: String(seed), what: `${kind}: ${told}`.slice(0, SHOWN_MAX) });
}

/** @param tells what the answer has of a verdict; null: all that the other one has */
export function isAlike(
  answer: CrosscheckAnswer,
  other: CrosscheckAnswer | undefined,
  tells: readonly string[] | null,
): boolean {
  if (tells === null || other?.ok === undefined) return isDeepStrictEqual(answer, other);
  const { ok } = other;
  return isDeepStrictEqual(answer, { ok: Object.fromEntries(tells.map((name) => [name, ok[name]])) });
}

/** What most of the mutations should not come to: all refused at the first look would prove little. */
function verdictOf(answer: CrosscheckAnswer | undefined): string {
  if (answer?.ok === undefined) return "malformed";
  const { verdict, outcome } = answer.ok;
  return String(verdict ?? outcome);
}
