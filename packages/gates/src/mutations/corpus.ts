import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { proofTextOf } from "@event-anchoring/testkit/sdks";

/** The event of most receipts of the vectors. A command and a page judge a file, and not a hash alone. */
const CONTENT = "event 5";
const EVENT_HASH = createHash("sha256").update(CONTENT).digest();

/** A question that the SDKs answer alike, and the texts in it that may be changed. */
export interface Sample {
  readonly kind: "receipt" | "proof" | "bundle" | "trust-root";
  readonly text: string;
  /** The question about a text in the place of that one; null: this text cannot be asked about. */
  readonly about: (text: string) => object | null;
}

interface Receipts {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly good: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly ReceiptCase[] };
  readonly proof: { readonly good: readonly { readonly proof: string }[] };
}

interface ReceiptCase {
  readonly receipt: { readonly leaf: string };
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
  readonly bundle?: { readonly trust_roots: readonly string[] };
}

/** From the vectors of this repository. @param folder `test/vectors` */
export function readCorpus(folder: string): readonly Sample[] {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, `${name}.json`), "utf8"));
  const receipts = read("receipt") as Receipts;
  const bundles = ["bundle", "bundle-state", "bundle-scope"].map((name) => read(name) as Bundles);
  return [...receiptSamples(receipts), ...fileSamples(receipts), ...bundles.flatMap(bundleSamples)];
}

function receiptSamples({
  good,
  witnessed,
  proof,
  trust_roots: all,
  pinned_root_thk: pin,
}: Receipts): readonly Sample[] {
  const ask = (receipt: unknown, trustRoots: readonly string[], expect?: object): object => {
    const question = { op: "verify_receipt", receipt, trust_roots: trustRoots, pinned_root_thk: pin };
    return expect === undefined ? question : { ...question, expect };
  };
  const ofReceipts = [...good, ...witnessed.good].flatMap(({ receipt, trust_root_versions: versions, expect }) => {
    const roots = all.slice(0, versions);
    const own: Sample = {
      kind: "receipt",
      text: JSON.stringify(receipt),
      about: (text) => {
        const value = parsed(text);
        return value === undefined ? null : ask(value, roots, expect);
      },
    };
    const ofRoots = roots.map((root, at): Sample => {
      return { kind: "trust-root", text: root, about: (text) => ask(receipt, roots.with(at, text), expect) };
    });
    return [own, ...ofRoots];
  });
  const ofProofs = proof.good.map(({ proof: text }): Sample => {
    return { kind: "proof", text, about: (other) => ask(other, all) };
  });
  return [...ofReceipts, ...ofProofs];
}

/**
 * Receipts, in text and as JSON, beside the event itself: what a person gives to `anchorctl verify` and to the proof
 * page.
 */
function fileSamples({ good, witnessed, trust_roots: all, pinned_root_thk: pin }: Receipts): readonly Sample[] {
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
    const own: Sample = { kind: "proof", text: proof, about: (text) => ask(text, roots) };
    const wire: Sample = {
      kind: "receipt",
      text: JSON.stringify(receipt),
      about: (text) => {
        const value = parsed(text);
        return value === undefined ? null : ask(value, roots);
      },
    };
    const ofRoots = roots.map((root, at): Sample => {
      return { kind: "trust-root", text: root, about: (text) => ask(proof, roots.with(at, text)) };
    });
    return [own, wire, ...ofRoots];
  });
}

/** By a pin alone, and by the trust root that somebody holds, as a command and a page have it. */
function bundleSamples({ good }: Bundles): readonly Sample[] {
  return good.flatMap(({ bundle, pinned_root_thk: pin, require_witnessed: isWitnessed = false }): readonly Sample[] => {
    if (bundle === undefined) return [];
    const ask = (text: string): object => {
      return { op: "verify_bundle", bundle: text, pinned_root_thk: pin, require_witnessed: isWitnessed };
    };
    const whole = JSON.stringify(bundle);
    const held = bundle.trust_roots.find((document) => thkOf(document) === pin);
    const byPin: Sample = { kind: "bundle", text: whole, about: ask };
    if (held === undefined) return [byPin];
    return [
      byPin,
      { kind: "bundle", text: whole, about: (text) => ({ ...ask(text), trust_roots: [held] }) },
      { kind: "trust-root", text: held, about: (text) => ({ ...ask(whole), trust_roots: [text] }) },
    ];
  });
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
