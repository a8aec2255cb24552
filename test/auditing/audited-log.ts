/**
 * What an auditor is sent and can watch: an act, the grants behind it, and the log that holds them, as files. There are
 * two histories of that log. In the true one the grant was revoked before the act; in the other one an event is in the
 * place of the revocation. A quorum of the nodes has signed both, a witness the true one alone.
 */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  bytesToHex,
  concatBytes,
  formatProof,
  proveConsistency,
  proveInclusion,
  tilePath,
  tileWidthAt,
} from "@event-anchoring/protocol";
import type { TrustRoot } from "@event-anchoring/protocol";
import { formatBundle } from "@event-anchoring/bundle";
import { actOf, whole } from "../../packages/bundle/test/vector-builders/bundle-cases.ts";
import type { Act } from "../../packages/bundle/test/vector-builders/bundle-cases.ts";
import type { Cluster } from "../../packages/bundle/test/vector-builders/bundle-cluster.ts";
import { BundleWorld } from "../../packages/bundle/test/vector-builders/bundle-world.ts";

const { sha256 } = nodeCrypto;

/** The place of the node in whose origin the histories differ. */
export const FORKED = 1;
/** What the act's event is the hash of. */
export const ACT_CONTENT = "act";

export type Files = ReadonlyMap<string, Uint8Array | string>;

/** A checkpoint with the lines that witnesses have given for it. */
export type Witnessed = (checkpoint: string) => string;

export class AuditedLog {
  readonly #act: Act;

  private constructor(act: Act) {
    this.#act = act;
  }

  /** The grantor revokes the grant, and then the grantee acts. */
  static truth(cluster: Cluster): AuditedLog {
    const before: (parts: Omit<Act, "act">) => void = ({ world, lower }) => {
      world.revoke(lower, { by: "deployer", authority: 3 });
    };
    return new AuditedLog(actOf({ world: new BundleWorld(cluster), before }));
  }

  /** The same, but that nothing was revoked. */
  static other(cluster: Cluster): AuditedLog {
    const before: (parts: Omit<Act, "act">) => void = ({ world }) => void world.event("no revocation", { at: FORKED });
    return new AuditedLog(actOf({ world: new BundleWorld(cluster), before }));
  }

  get #world(): BundleWorld {
    return this.#act.world;
  }

  get newest(): TrustRoot {
    const [signed] = this.#world.versions;
    if (signed === undefined) throw new RangeError("a world has a trust root");
    return signed.trustRoot;
  }

  get trustRoot(): string {
    return this.#world.documents[0] ?? "";
  }

  get rootThk(): string {
    return bytesToHex(this.#world.pin);
  }

  /** 64 hex digits. */
  origin(at: number): string {
    return bytesToHex(this.#world.cluster.node(at).originFingerprint);
  }

  size(at: number): number {
    return this.#world.tree(at).length;
  }

  checkpoint(at: number, size = this.size(at)): string {
    return this.#world.checkpoint(at, size);
  }

  growth(at: number, fromSize: number, toSize: number): readonly Uint8Array[] {
    return proveConsistency(fromSize, toSize, this.#world.hashAt(at), sha256);
  }

  /** The act's bundle: every leaf of the log, so that no revocation can be missing. */
  bundle(witnessed: Witnessed): string {
    const { bundle } = whole(this.#world, this.#act.act);
    return formatBundle({ ...bundle, checkpoints: bundle.checkpoints.map(witnessed) });
  }

  /** The act's receipt. */
  receipt(witnessed: Witnessed): string {
    const { act } = this.#act;
    const at = this.#world.cluster.nodes.findIndex((_, place) => this.#world.tree(place).includes(act));
    const { depth: index } = act.leaf;
    const [treeSize, checkpoint] = [this.size(at), witnessed(this.checkpoint(at))];
    const path = proveInclusion(index, treeSize, this.#world.hashAt(at), sha256);
    return formatProof({ leaf: act.bytes, index, treeSize, path, checkpoint });
  }

  /** What a public log shows, by path. @param sizes of its trees, where one is not shown whole */
  files(page: string, witnessed: Witnessed, sizes: ReadonlyMap<number, number> = new Map()): Files {
    const chain = [{ version: 1, root_thk: this.rootThk, document: this.trustRoot }];
    const files = new Map<string, Uint8Array | string>([
      ["index.html", page],
      ["v1/trust-root", JSON.stringify({ chain })],
    ]);
    for (const at of this.#world.cluster.nodes.keys()) {
      const size = sizes.get(at) ?? this.size(at);
      if (size === 0) continue;
      const base = `v1/origins/${this.origin(at)}`;
      const hashes = this.#world
        .tree(at)
        .slice(0, size)
        .map(({ anchorId }) => anchorId);
      files.set(`${base}/checkpoint`, witnessed(this.checkpoint(at, size)));
      files.set(`${base}/${tilePath(0, 0, tileWidthAt(0, 0, size))}`, concatBytes(...hashes));
    }
    return files;
  }
}
