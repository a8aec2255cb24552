import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { proofTextOf } from "@event-anchoring/testkit";

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
  readonly good: readonly { readonly pinned_root_thk: string; readonly bundle?: object }[];
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

/** Receipts in text beside the event itself: what a person gives to `anchorctl verify` and to the proof page. */
function fileSamples({ good, witnessed, trust_roots: all, pinned_root_thk: pin }: Receipts): readonly Sample[] {
  const ofContent = [...good, ...witnessed.good].filter(({ receipt: { leaf } }) => {
    return Buffer.from(leaf, "base64").includes(EVENT_HASH);
  });
  return ofContent.flatMap(({ receipt, trust_root_versions: versions, require_witnessed: isWitnessed = false }) => {
    const roots = all.slice(0, versions);
    const proof = proofTextOf(receipt);
    const said = { pinned_root_thk: pin, require_witnessed: isWitnessed, content: CONTENT };
    const expect = { event_hash: EVENT_HASH.toString("hex") };
    const ask = (text: string, trustRoots: readonly string[]): object => {
      return { op: "verify_receipt", receipt: text, trust_roots: trustRoots, expect, ...said };
    };
    const own: Sample = { kind: "proof", text: proof, about: (text) => ask(text, roots) };
    const ofRoots = roots.map((root, at): Sample => {
      return { kind: "trust-root", text: root, about: (text) => ask(proof, roots.with(at, text)) };
    });
    return [own, ...ofRoots];
  });
}

function bundleSamples({ good }: Bundles): readonly Sample[] {
  return good.flatMap(({ bundle, pinned_root_thk: pin }): readonly Sample[] => {
    if (bundle === undefined) return [];
    const about = (text: string): object => ({ op: "verify_bundle", bundle: text, pinned_root_thk: pin });
    return [{ kind: "bundle", text: JSON.stringify(bundle), about }];
  });
}

/** undefined: it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
