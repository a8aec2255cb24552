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
  shippedPage,
} from "@event-anchoring/testkit/sdks";
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

/** Cryptography in JavaScript takes far longer than the others, and a browser longer yet: they get one in so many. */
const ON_PAGE_EVERY = 8;
const ON_SCREEN_EVERY = 32;

/** As the languages read it. */
type Question = Readonly<Record<string, unknown>>;

/** Who judges. */
interface Verifier {
  readonly program: CrosscheckProcess;
  readonly takes: (question: Question, seed: number) => boolean;
  /** What it tells of what another one has said; null: all. */
  readonly tells: ((ok: Verdict) => readonly string[]) | null;
}

type Verdict = NonNullable<CrosscheckAnswer["ok"]>;

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
    "packages/node-crypto/src",
    "packages/sdk-typescript/src",
    "packages/sdk-python/src",
    "packages/sdk-rust/src",
    "packages/sdk-rust/Cargo.lock",
    "packages/verdicts/src",
    "packages/explorer/src/check",
    "packages/explorer/src/given",
    "packages/explorer/src/view",
    "packages/explorer/src/main.tsx",
    "packages/cli/src/commands",
    "packages/cli/src/files",
    "packages/cli/src/reports",
  ],
  missing: () => availableSdks().missing[0] ?? null,
  run: async (batch) => {
    const { sdks } = availableSdks();
    if (sdks.length !== LANGUAGES) throw new Error("an SDK is missing");
    const running = verifiersOf(sdks);
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

/** The SDKs come first: they take every question, and tell all. */
function verifiersOf(sdks: readonly SdkCommand[]): readonly Verifier[] {
  const start = (command: SdkCommand, takes: Verifier["takes"], tells: Verifier["tells"] = null): Verifier => {
    return { program: new CrosscheckProcess(command), takes, tells };
  };
  const shipped = shippedPage();
  return [
    ...sdks.map((sdk) => start(sdk, () => true)),
    start(ANCHORCTL, isOfFiles),
    start(PROOF_PAGE, isOnPage(ON_PAGE_EVERY), shownOnPage),
    ...(shipped === null ? [] : [start(shipped, isOnPage(ON_SCREEN_EVERY), shownOnPage)]),
  ];
}

/** The command judges the receipt of a file, in text, and a bundle, by trust roots in files. */
function isOfFiles({ op, bundle, receipt, content, trust_roots: roots }: Question): boolean {
  if (op === "verify_bundle") return typeof bundle === "string" && roots !== undefined;
  return typeof receipt === "string" && content !== undefined;
}

/** The page takes JSON, too, and a bundle with the pin alone. */
function isOnPage(every: number): Verifier["takes"] {
  return ({ op, content }, seed) => seed % every === 0 && (op === "verify_bundle" || content !== undefined);
}

/** The parts of a verdict that are on the page: of a bundle that fails, the checks after that are not. */
export function shownOnPage({ outcome }: Verdict): readonly string[] {
  if (outcome === undefined) return ["verdict", "step", "code"];
  return outcome === "invalid" ? ["outcome", "fails"] : ["outcome", "fails", "not_checked"];
}

async function judge(
  seed: number,
  corpus: readonly Sample[],
  verifiers: readonly Verifier[],
  { note, fail }: Batch,
): Promise<void> {
  const dice = new Seeded(seed, 21);
  const { kind, text, about } = dice.pick(corpus);
  const question = about(mutated(text, dice)) as Question | null;
  // A question is a line of JSON, in which a lone surrogate cannot come to Rust.
  if (question === null || LONE_SURROGATE.test(JSON.stringify(question))) return note(0, seed, { "not asked": 1 });
  const asked = verifiers.filter(({ takes }) => takes(question, seed));
  const answers = await Promise.all(
    asked.map(({ program }) =>
      program.ask(question).catch((error: unknown) => {
        fail({ seed: String(seed), what: `${kind}: ${String(error)}`.slice(0, SHOWN_MAX) });
        throw error;
      }),
    ),
  );
  const [first] = answers;
  const by = Object.fromEntries(asked.map(({ program }) => [`by ${program.language}`, 1]));
  note(1, seed, { [`${kind}: ${verdictOf(first)}`]: 1, ...by });
  if (answers.every((answer, at) => isAlike(answer, first, asked[at]?.tells ?? null))) return;
  const told = answers.map((answer, at) => `${asked[at]?.program.language}: ${JSON.stringify(answer)}`).join("; ");
  fail({ seed: String(seed), what: `${kind}: ${told}`.slice(0, SHOWN_MAX) });
}

/** @param tells what the answer has of a verdict; null: all that the other one has */
export function isAlike(
  answer: CrosscheckAnswer,
  other: CrosscheckAnswer | undefined,
  tells: Verifier["tells"],
): boolean {
  if (tells === null || other?.ok === undefined) return isDeepStrictEqual(answer, other);
  const { ok } = other;
  return isDeepStrictEqual(answer, { ok: Object.fromEntries(tells(ok).map((name) => [name, ok[name]])) });
}

/** What most of the mutations should not come to: all refused at the first look would prove little. */
function verdictOf(answer: CrosscheckAnswer | undefined): string {
  if (answer?.ok === undefined) return "malformed";
  const { verdict, outcome } = answer.ok;
  return String(verdict ?? outcome);
}
