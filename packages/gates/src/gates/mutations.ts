import { isDeepStrictEqual } from "node:util";
import { join } from "node:path";
import {
  ANCHORCTL,
  type CrosscheckAnswer,
  CrosscheckProcess,
  PROOF_PAGE,
  SERVER,
  type SdkCommand,
  availableSdks,
  shippedPage,
} from "@event-anchoring/testkit/sdks";
import { readCorpus } from "../mutations/corpus.ts";
import { type Question, Questions } from "../mutations/draw.ts";
import { agreesWithServer, isForServer } from "../mutations/server-words.ts";
import { CHECKOUT } from "./checkout.ts";
import type { Batch, Gate } from "./gate.ts";

/** Questions that are asked before the first is answered. */
const AT_A_TIME = 64;
const LANGUAGES = 3;
const SHOWN_MAX = 1000;
/** Codes of what cannot be read at all: behind them no rule was asked. */
const UNREAD = /malformed|canonical|too_large|too_long|_unknown$|json_invalid|leaf_missing/;
/** The code of a checkpoint that was read. */
const READ = "origin_unknown";

/** Cryptography in JavaScript takes far longer than the others, and a browser longer yet: they get one in so many. */
const ON_PAGE_EVERY = 2;
const ON_SCREEN_EVERY = 10;

/** Who judges. */
interface Verifier {
  readonly program: CrosscheckProcess;
  /** It has ended, or said what is no answer. All its open questions are rejected then; one failure is enough. */
  hasFailed: boolean;
  readonly takes: (question: Question, seed: number) => boolean;
  /** Whether it says of a question, in its own words, what an SDK says. */
  readonly agrees: (answer: CrosscheckAnswer, sdk: CrosscheckAnswer, question: Question) => boolean;
}

/** What is told of what another one has said; null: all. */
type Tells = ((ok: Verdict) => readonly string[]) | null;

type Verdict = NonNullable<CrosscheckAnswer["ok"]>;

/** What was changed is judged alike in three languages, by server, command line and page, by its reason too. */
export const MUTATIONS: Gate = {
  name: "mutations",
  counts:
    "mutated receipts, proofs, bundles, trust roots and checkpoints, judged by three SDKs, server, anchorctl and page",
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
    "packages/explorer/src",
    "packages/cli/src/bundling",
    "packages/cli/src/commands",
    "packages/cli/src/drafts",
    "packages/cli/src/files",
    "packages/cli/src/reports",
    "packages/cli/src/service",
    "packages/cli/src/terminal",
    "packages/ledger/src/decide",
    "packages/ledger/src/state",
    "packages/control-contract/src/witness",
    "packages/control-plane/src/membership",
    "packages/control-plane/src/witness",
    "packages/store/src/snapshot",
    "packages/store/src/tables",
    "packages/api/src/reading",
    "packages/api/src/http",
  ],
  missing: () => availableSdks().missing[0] ?? null,
  run: async (batch) => {
    const { sdks } = availableSdks();
    if (sdks.length !== LANGUAGES) throw new Error("an SDK is missing");
    const running = verifiersOf(sdks);
    try {
      const questions = new Questions(readCorpus(join(CHECKOUT, "test/vectors")));
      const isOver = (): boolean => batch.isOver() || running.some(({ hasFailed }) => hasFailed);
      for (let from = batch.from; !isOver(); from += AT_A_TIME) {
        const seeds = Array.from({ length: AT_A_TIME }, (_, at) => from + at);
        await Promise.all(seeds.map((seed) => judge(seed, questions, running, batch)));
      }
    } finally {
      for (const { program } of running) program.end();
    }
  },
};

/** The SDKs come first: they take every question, and tell all. */
function verifiersOf(sdks: readonly SdkCommand[]): readonly Verifier[] {
  const start = (command: SdkCommand, takes: Verifier["takes"], agrees: Verifier["agrees"]): Verifier => {
    return { program: new CrosscheckProcess(command), hasFailed: false, takes, agrees };
  };
  const byWords =
    (tells: Tells): Verifier["agrees"] =>
    (answer, sdk) =>
      isAlike(answer, sdk, tells);
  const shipped = shippedPage();
  return [
    ...sdks.map((sdk) => start(sdk, () => true, byWords(null))),
    start(SERVER, isForServer, agreesWithServer),
    start(ANCHORCTL, isOfFiles, byWords(null)),
    start(PROOF_PAGE, isOnPage(ON_PAGE_EVERY), byWords(shownOnPage)),
    ...(shipped === null ? [] : [start(shipped, isOnPage(ON_SCREEN_EVERY), byWords(shownOnPage))]),
  ];
}

/** The command judges the receipt of a file, in text, and a bundle, by trust roots in files. */
function isOfFiles({ op, bundle, receipt, content, trust_roots: roots }: Question): boolean {
  if (op === "verify_bundle") return typeof bundle === "string" && roots !== undefined;
  return op === "verify_receipt" && typeof receipt === "string" && content !== undefined;
}

/**
 * The page takes JSON, too, and a bundle with the pin alone. Files that are dropped on it have no order, and one that
 * is there twice counts once: a version that is listed again is refused by the others alone.
 */
function isOnPage(every: number): Verifier["takes"] {
  return ({ op, content, trust_roots: roots = [] }, seed) => {
    if (seed % every !== 0 || (op !== "verify_bundle" && content === undefined)) return false;
    const texts = (roots as readonly string[]).map((document) => document.slice(0, document.lastIndexOf("\n\n")));
    return new Set(texts).size === texts.length;
  };
}

/** The parts of a verdict that are on the page: of a bundle that fails, the checks after that are not. */
export function shownOnPage({ outcome }: Verdict): readonly string[] {
  if (outcome === undefined) return ["verdict", "step", "code"];
  return outcome === "invalid" ? ["outcome", "fails"] : ["outcome", "fails", "not_checked"];
}

async function judge(
  seed: number,
  questions: Questions,
  verifiers: readonly Verifier[],
  { note, fail }: Batch,
): Promise<void> {
  const { kind, question } = questions.draw(seed);
  if (question === null) return note(0, seed, { "not asked": 1 });
  const asked = verifiers.filter(({ takes }) => takes(question, seed));
  const answers = await Promise.all(
    asked.map((verifier) =>
      verifier.program.ask(question).catch((error: unknown) => {
        if (!verifier.hasFailed) fail({ seed: String(seed), what: `${kind}: ${String(error)}`.slice(0, SHOWN_MAX) });
        verifier.hasFailed = true;
        return null;
      }),
    ),
  );
  if (!answers.every((answer) => answer !== null)) return note(0, seed);
  const [first = {}] = answers;
  const by = Object.fromEntries(asked.map(({ program }) => [`by ${program.language}`, 1]));
  note(1, seed, { [`${kind}: ${verdictOf(first)}`]: 1, ...by });
  if (answers.every((answer, at) => asked[at]?.agrees(answer, first, question) === true)) return;
  const told = answers.map((answer, at) => `${asked[at]?.program.language}: ${JSON.stringify(answer)}`).join("; ");
  fail({ seed: String(seed), what: `${kind}: ${told}`.slice(0, SHOWN_MAX) });
}

/** @param tells what the answer has of a verdict; null: all that the other one has */
export function isAlike(answer: CrosscheckAnswer, other: CrosscheckAnswer | undefined, tells: Tells): boolean {
  if (tells === null || other?.ok === undefined) return isDeepStrictEqual(answer, other);
  const { ok } = other;
  return isDeepStrictEqual(answer, { ok: Object.fromEntries(tells(ok).map((name) => [name, ok[name]])) });
}

/** Most mutations should not come to `malformed`: all refused at the first look would prove little. */
export function verdictOf({ ok, error }: CrosscheckAnswer): string {
  const code = String(error?.code ?? ok?.["code"]);
  if (UNREAD.test(code) && code !== READ) return "malformed";
  return error === undefined ? String(ok?.["verdict"] ?? ok?.["outcome"]) : "refused";
}
