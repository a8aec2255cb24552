import type { Hello, HelloVerdict } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type TrustRoot, equalBytes, parseSignedTrustRoot } from "@event-anchoring/protocol";
import type { Restoration } from "@event-anchoring/store";

/** A signed trust root that a restored group has yet to apply. */
export interface PendingTrustRoot {
  readonly version: number;
  /** The whole signed note. */
  readonly document: string;
}

/**
 * The beginning of a group that was restored from a backup. Its members are set up with the same state and the same
 * signed trust roots; until the last of these is applied, its log lists none of them, and nothing else is done. For any
 * other group this is empty.
 */
export class RestoredGroup {
  readonly #restoration: Restoration | null;
  readonly #versions: readonly { readonly document: string; readonly trustRoot: TrustRoot }[];
  readonly #appliedVersion: () => number;

  /** @param appliedVersion of the newest trust root in the ledger */
  constructor(restoration: Restoration | null, appliedVersion: () => number) {
    this.#restoration = restoration?.scope === "cluster" ? restoration : null;
    this.#appliedVersion = appliedVersion;
    this.#versions = (this.#restoration?.trustRoots ?? []).map((document) => ({
      document,
      trustRoot: parseSignedTrustRoot(document, nodeCrypto.sha256).trustRoot,
    }));
  }

  /** What a leader proposes next; null: nothing is missing. */
  pending(): PendingTrustRoot | null {
    const applied = this.#appliedVersion();
    const next = this.#versions.find(({ trustRoot }) => trustRoot.version > applied);
    return next === undefined ? null : { version: next.trustRoot.version, document: next.document };
  }

  /** While a version is missing: the trust root that will be in force in the end. Otherwise null. */
  promised(): TrustRoot | null {
    return this.pending() === null ? null : (this.#versions.at(-1)?.trustRoot ?? null);
  }

  /** What this node's hello says about the backup it began from. */
  get mark(): Pick<Hello, "restoredFrom"> {
    if (this.#restoration === null) return {};
    const { point, effect } = this.#restoration;
    return { restoredFrom: { raftIndex: point.index, effect } };
  }

  /** Nodes that began from different states have no log in common; null: nothing speaks against the peer. */
  judge({ nodeId, restoredFrom }: Pick<Hello, "nodeId" | "restoredFrom">): HelloVerdict | null {
    if (this.#restoration === null || restoredFrom === undefined) return null;
    const { point, effect } = this.#restoration;
    if (restoredFrom.raftIndex === point.index && equalBytes(restoredFrom.effect, effect)) return null;
    const detail =
      `${nodeId} was restored from a backup that ends at log index ${restoredFrom.raftIndex}, this node from another ` +
      `one, that ends at ${point.index}: the nodes of a restored cluster begin from the same`;
    return { accepted: false, code: "other_backup", detail };
  }
}
