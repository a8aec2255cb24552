/** Judges everything that was given, with one pin. */
import { addScopes } from "@event-anchoring/bundle";
import { nobleCrypto, rootThk, parseNote, NoteError, equalBytes } from "@event-anchoring/protocol";
import { givenOf } from "../given/given.ts";
import type { Given, GivenOf } from "../given/given.ts";
import { judgeBundle } from "./judge-bundle.ts";
import { withEnvelope } from "./judge-envelope.ts";
import { judgeCheckpoint, judgeTrustRoots } from "./judge-documents.ts";
import { isOfBundle, judgeLooseScope } from "./judge-scope.ts";
import { judgeReceipt, withoutReceipt } from "./judge-receipt.ts";
import type { Expected } from "./judge-receipt.ts";
import type { Judged } from "./judged.ts";
import { holdTrustRoots } from "./trust.ts";
import type { HeldTrust, Pin } from "./trust.ts";

const KINDS = {
  receipt: "receipt",
  bundle: "bundle",
  scope: "scope",
  checkpoint: "checkpoint",
  trust_root: "trust root",
} as const;

/** A verdict on what was given; null: on all trust roots together. */
export interface Verdict extends Judged {
  readonly given: Given | null;
}

/** What has a verdict of its own. */
type Judgeable = GivenOf<"receipt" | "bundle" | "checkpoint">;

const PLAIN = { steps: [], leaf: null, bundle: null } as const;

/** Without a trust root of its own a bundle is judged by the documents in it, from the pinned one on. */
function trustForBundle({ bundle }: GivenOf<"bundle">, held: HeldTrust, pin: Pin): HeldTrust {
  if (held.state !== "missing") return held;
  if (pin.state !== "given") return holdTrustRoots(bundle.trustRoots.slice(0, 1), pin);
  const pinned = bundle.trustRoots.find((document) => isThk(document, pin.rootThk)) ?? bundle.trustRoots[0];
  return holdTrustRoots(pinned === undefined ? [] : [pinned], pin);
}

function isThk(document: string, wanted: Uint8Array): boolean {
  try {
    return equalBytes(rootThk(parseNote(document).text, nobleCrypto.sha256), wanted);
  } catch (error) {
    if (error instanceof NoteError) return false;
    throw error;
  }
}

function withoutTrust({ name, kind }: Judgeable, held: HeldTrust): Judged {
  const base = { ...PLAIN, name, kind: KINDS[kind] };
  if (held.state === "refused")
    return { ...base, mark: "fail", text: `NOT VALID (${held.code}): the trust root is not valid: ${held.detail}` };
  const from = "anybody may give it to you: it is worth nothing without its hash, which is the pin";
  return { ...base, mark: "warn", text: `NO TRUST ROOT: give the trust root of the cluster; ${from}.` };
}

function judgeBroken(given: GivenOf<"broken">): Verdict[] {
  const { name, meant, code, detail } = given;
  if (meant === "names" || meant === "file") return [];
  const kind = KINDS[meant];
  const text = `NOT VALID: ${name} is not a ${kind}: ${detail} (${code})`;
  return [{ ...PLAIN, given, name, kind, mark: "fail", text }];
}

/** One thing that cannot be judged takes no verdict from the others, and is never good. */
function judgeEach<One extends Judgeable>(all: readonly One[], judge: (one: One) => Judged): Verdict[] {
  return all.map((one) => {
    try {
      return { ...judge(one), given: one };
    } catch (error) {
      const text = `NOT JUDGED: this page failed on it, so nothing is proved: ${String(error)}`;
      return { ...PLAIN, given: one, name: one.name, kind: KINDS[one.kind], mark: "fail", text };
    }
  });
}

/** Verdicts on everything that was given and can have one: what was broken first, then in the order it was given. */
export function judgeAll(given: readonly Given[], pin: Pin, expected: Expected): Verdict[] {
  const held = holdTrustRoots(
    givenOf(given, "trust_root").flatMap(({ documents }) => documents),
    pin,
  );
  const receipts = givenOf(given, "receipt");
  const bundles = givenOf(given, "bundle");
  const scopes = givenOf(given, "scope");
  const files = givenOf(given, "file");
  const free = withoutReceipt(files, receipts);
  const verdicts = [
    ...givenOf(given, "broken").flatMap(judgeBroken),
    ...judgeEach(bundles, (one) => {
      const trust = trustForBundle(one, held, pin);
      if (trust.state !== "held") return withoutTrust(one, trust);
      const own = scopes.filter(({ scope }) => isOfBundle(scope, one.bundle));
      const bundle = addScopes(
        one.bundle,
        own.map(({ scope }) => scope),
      );
      return withEnvelope(judgeBundle({ ...one, bundle }, trust.judgedBy, expected, free), files);
    }),
    ...scopes
      .filter(({ scope }) => !bundles.some(({ bundle }) => isOfBundle(scope, bundle)))
      .map((one) => {
        return { ...judgeLooseScope(one, bundles.length > 0), given: one };
      }),
    ...judgeEach(receipts, (one) =>
      held.state === "held"
        ? withEnvelope(judgeReceipt(one, held.judgedBy, expected, { files, receipts }), files)
        : withoutTrust(one, held),
    ),
    ...judgeEach(givenOf(given, "checkpoint"), (one) =>
      held.state === "held" ? judgeCheckpoint(one, held.judgedBy, expected.requireWitnessed) : withoutTrust(one, held),
    ),
  ];
  return [...verdicts, ...judgeHeld(given, held)];
}

/** The trust roots, as one thing: they are documents that were given like any other. */
function judgeHeld(given: readonly Given[], held: HeldTrust): Verdict[] {
  const names = givenOf(given, "trust_root").map(({ name }) => name);
  const name = names.join(", ");
  if (held.state === "missing") return [];
  if (held.state === "held") return [{ ...judgeTrustRoots(name, held.judgedBy), given: null }];
  const text = `NOT VALID (${held.code}): ${held.detail}`;
  return [{ ...PLAIN, given: null, name, kind: "trust root", mark: "fail", text }];
}
