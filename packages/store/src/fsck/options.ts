import type { Checked, Difference } from "./findings.ts";

export interface FsckProgress {
  /** The part that is being walked. */
  readonly phase: "leaves" | "records" | "log";
  readonly done: number;
  /** null: not known before the end. */
  readonly total: number | null;
}

export interface FsckOptions {
  /** RootTHK of any version of the chain, from a trusted source; null: any version 1 is accepted. */
  readonly pinnedRootThk: Uint8Array | null;
  /** Default false: the walk ends with the batch that holds the first difference. */
  readonly findsAll?: boolean;
  /** How many differences are named when all are found. Default 100. */
  readonly differencesMax?: number;
  readonly onProgress?: (done: FsckProgress) => void;
}

export const DIFFERENCES_MAX_DEFAULT = 100;

/** One tree, derived from its leaves. */
export interface CheckedOrigin {
  readonly originFingerprint: Uint8Array;
  readonly treeSize: number;
  /** null: a leaf is missing or out of place, so the root is unknown. */
  readonly rootHash: Uint8Array | null;
  /** Size of the newest certificate; 0: none. */
  readonly certifiedSize: number;
}

export interface FsckReport {
  /** The first ones, in the order of the rows they are in. */
  readonly differences: readonly Difference[];
  /** Including those that are not named. */
  readonly differenceCount: number;
  readonly checked: Checked;
  /** The newest version; null: there is none, or the documents are not a valid chain. */
  readonly trustRoot: { readonly version: number; readonly rootThk: Uint8Array } | null;
  readonly origins: readonly CheckedOrigin[];
}
