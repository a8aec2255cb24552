import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { proofTextOf } from "@event-anchoring/testkit/sdks";
import type { Form } from "./well-formed.ts";

/** The event of most receipts of the vectors. A command and a page judge a file, and not a hash alone. */
const CONTENT = "event 5";
const EVENT_HASH = createHash("sha256").update(CONTENT).digest();

/** What a changed text is. */
export const KINDS = ["receipt", "proof", "bundle", "trust-root", "checkpoint"] as const;
export type Kind = (typeof KINDS)[number];

/** A question that the SDKs answer alike, and the texts in it that may be changed. */
export interface Sample {
  readonly kind: Kind;
  readonly text: string;
  /** The question about a text in the place of that one; null: this text cannot be asked about. */
  readonly about: (text: string) => object | null;
  /** Good texts of its form, of the same cluster: parts of them may stand in it. */
  readonly others: readonly string[];
}

/** How texts of a kind are built. */
export const FORMS: Readonly<Record<Kind, Form>> = {
  receipt: "receipt",
  proof: "proof",
  bundle: "bundle",
  "trust-root": "trust-root",
  checkpoint: "note",
};

type OwnSample = Omit<Sample, "others">;

interface Receipts {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly good: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly ReceiptCase[] };
  readonly proof: { readonly good: readonly { readonly proof: string }[] };
}

interface ReceiptCase {
  readonly receipt: { readonly leaf: string; readonly checkpoint: string };
  readonly require_witnessed?: boolean;
  readonly trust_root_versions?: number;
  readonly expect?: object;
}

interface Bundles {
  readonly good: readonly BundleCase[];
}

interface BundleCase {
  readonly pinned_root_thk: string;
  readonly require_witnessed?: boolean;
  readonly bundle?: { readonly trust_roots: readonly string[]; readonly checkpoints: readonly string[] };
}

/** The samples, and the trust roots, which name all keys. */
export interface Corpus {
  readonly samples: readonly Sample[];
  readonly trustRoots: readonly string[];
}

/** From the vectors of this repository. @param folder `test/vectors` */
export function readCorpus(folder: string): Corpus {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const receipts = read("receipt") as Receipts;
  const bundles = ["bundle", "bundle-state", "bundle-scope"].flatMap((name) => (read(name) as Bundles).good);
  const ofReceipts = withOthers([
    ...receiptSamples(receipts),
    ...fileSamples(receipts),
    ...chainSamples(receipts.trust_roots, receipts.pinned_root_thk),
    ...checkpointSamples(receipts),
  ]);
  const ofBundles = withOthers([
    ...bundles.flatMap(bundleSamples),
    ...bundleChains(bundles).flatMap(({ chain, pin }) => chainSamples(chain, pin)),
    ...bundles.flatMap(({ bundle, pinned_root_thk: pin }) => {
      return bundle === undefined ? [] : bundleCheckpointSamples(bundle, pin);
    }),
  ]);
  const samples = [...ofReceipts, ...ofBundles];
  const documents = bundles.flatMap(({ bundle }) => bundle?.trust_roots ?? []);
  return { samples, trustRoots: [...new Set([...receipts.trust_roots, ...documents])] };
}

/** A receipt in text and one in JSON say the same. */
function withOthers(samples: readonly OwnSample[]): readonly Sample[] {
  const poolOf = ({ kind }: OwnSample): string => (kind === "proof" ? "receipt" : kind);
  const pools = new Map<string, Set<string>>();
  for (const sample of samples) {
    const pool = poolOf(sample);
    pools.set(pool, (pools.get(pool) ?? new Set()).add(sample.text));
  }
  const others = new Map([...pools].map(([pool, texts]) => [pool, [...texts]]));
  return samples.map((sample) => ({ ...sample, others: others.get(poolOf(sample)) ?? [] }));
}

/** A chain up to the trust root that is changed, as an operator proposes it; and each alone, by its own hash. */
function chainSamples(chain: readonly string[], pin: string): readonly OwnSample[] {
  return chain.flatMap((text, at): readonly OwnSample[] => [
    {
      kind: "trust-root",
      text,
      about: (other) => ({
        op: "verify_trust_root",
        trust_roots: [...chain.slice(0, at), other],
        pinned_root_thk: pin,
      }),
    },
    {
      kind: "trust-root",
      text,
      about: (other) => ({ op: "verify_trust_root", trust_roots: chain.with(at, other), pinned_root_thk: pin }),
    },
    {
      kind: "trust-root",
      text,
      about: (other) => ({ op: "verify_trust_root", trust_roots: [other], pinned_root_thk: thkOf(other) }),
    },
  ]);
}

/** The chains of bundles from their pin on, each once. */
function bundleChains(bundles: readonly BundleCase[]): readonly { chain: readonly string[]; pin: string }[] {
  const chains = bundles.flatMap(({ bundle, pinned_root_thk: pin }) => {
    const all = bundle?.trust_roots ?? [];
    const from = all.findIndex((document) => thkOf(document) === pin);
    return from < 0 ? [] : [{ chain: all.slice(from), pin }];
  });
  return [...new Map(chains.map((each) => [each.chain.join(""), each])).values()];
}

function checkpointSample(text: string, trustRoots: readonly string[], pin: string): OwnSample {
  return {
    kind: "checkpoint",
    text,
    about: (checkpoint) => ({ op: "verify_checkpoint", checkpoint, trust_roots: trustRoots, pinned_root_thk: pin }),
  };
}

/** Each by the versions that its receipt is judged by, and by all. */
function checkpointSamples({
  good,
  witnessed,
  trust_roots: all,
  pinned_root_thk: pin,
}: Receipts): readonly OwnSample[] {
  return [...good, ...witnessed.good].flatMap(({ receipt: { checkpoint }, trust_root_versions: versions }) => [
    checkpointSample(checkpoint, all.slice(0, versions), pin),
    checkpointSample(checkpoint, all, pin),
  ]);
}

/** By the trust roots from the pinned one on. */
function bundleCheckpointSamples({ trust_roots: all, checkpoints }: Required<BundleCase>["bundle"], pin: string) {
  const from = all.findIndex((document) => thkOf(document) === pin);
  return from < 0 ? [] : checkpoints.map((checkpoint) => checkpointSample(checkpoint, all.slice(from), pin));
}

function receiptSamples({
  good,
  witnessed,
  proof,
  trust_roots: all,
  pinned_root_thk: pin,
}: Receipts): readonly OwnSample[] {
  const ask = (receipt: unknown, trustRoots: readonly string[], expect?: object): object => {
    const question = { op: "verify_receipt", receipt, trust_roots: trustRoots, pinned_root_thk: pin };
    return expect === undefined ? question : { ...question, expect };
  };
  const ofReceipts = [...good, ...witnessed.good].flatMap(({ receipt, trust_root_versions: versions, expect }) => {
    const roots = all.slice(0, versions);
    const own: OwnSample = {
      kind: "receipt",
      text: JSON.stringify(receipt),
      about: (text) => {
        const value = parsed(text);
        return value === undefined ? null : ask(value, roots, expect);
      },
    };
    const ofRoots = roots.map((root, at): OwnSample => {
      return { kind: "trust-root", text: root, about: (text) => ask(receipt, roots.with(at, text), expect) };
    });
    return [own, ...ofRoots];
  });
  const ofProofs = proof.good.map(({ proof: text }): OwnSample => {
    return { kind: "proof", text, about: (other) => ask(other, all) };
  });
  return [...ofReceipts, ...ofProofs];
}

/**
 * Receipts, in text and as JSON, beside the event itself: what a person gives to `anchorctl verify` and to the proof
 * page.
 */
function fileSamples({ good, witnessed, trust_roots: all, pinned_root_thk: pin }: Receipts): readonly OwnSample[] {
  const ofContent = [...good, ...witnessed.good].filter(({ receipt: { leaf } }) => {
    return Buffer.from(leaf, "base64").includes(EVENT_HASH);
  });
  return ofContent.flatMap(({ receipt, trust_root_versions: versions, require_witnessed: isWitnessed = false }) => {
    const roots = all.slice(0, versions);
    const proof = proofTextOf(receipt);
    const said = { pinned_root_thk: pin, require_witnessed: isWitnessed, content: CONTENT };
    const expect = { event_hash: EVENT_HASH.toString("hex") };
    const ask = (given: unknown, trustRoots: readonly string[]): object => {
      return { op: "verify_receipt", receipt: given, trust_roots: trustRoots, expect, ...said };
    };
    const own: OwnSample = { kind: "proof", text: proof, about: (text) => ask(text, roots) };
    const wire: OwnSample = {
      kind: "receipt",
      text: JSON.stringify(receipt),
      about: (text) => {
        const value = parsed(text);
        return value === undefined ? null : ask(value, roots);
      },
    };
    const ofRoots = roots.map((root, at): OwnSample => {
      return { kind: "trust-root", text: root, about: (text) => ask(proof, roots.with(at, text)) };
    });
    return [own, wire, ...ofRoots];
  });
}

/** By a pin alone, and by the trust root that somebody holds, as a command and a page have it. */
function bundleSamples({
  bundle,
  pinned_root_thk: pin,
  require_witnessed: isWitnessed = false,
}: BundleCase): readonly OwnSample[] {
  if (bundle === undefined) return [];
  const ask = (text: string): object => {
    return { op: "verify_bundle", bundle: text, pinned_root_thk: pin, require_witnessed: isWitnessed };
  };
  const whole = JSON.stringify(bundle);
  const held = bundle.trust_roots.find((document) => thkOf(document) === pin);
  const byPin: OwnSample = { kind: "bundle", text: whole, about: ask };
  if (held === undefined) return [byPin];
  return [
    byPin,
    { kind: "bundle", text: whole, about: (text) => ({ ...ask(text), trust_roots: [held] }) },
    { kind: "trust-root", text: held, about: (text) => ({ ...ask(whole), trust_roots: [text] }) },
  ];
}

/** RootTHK: the hash of a note without its signatures. */
function thkOf(note: string): string {
  return createHash("sha256")
    .update(note.slice(0, note.indexOf("\n\n") + 1))
    .digest("hex");
}

/** undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
