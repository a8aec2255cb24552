import { readFileSync } from "node:fs";
import { join } from "node:path";

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
  readonly receipt: object;
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
  return [...receiptSamples(receipts), ...bundles.flatMap(bundleSamples)];
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
