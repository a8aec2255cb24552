/** One node of three that certifies: its own state, its own promises, and what it said. */
import type { HeadLine, PeerCosignature } from "@event-anchoring/control-contract";
import {
  type Command,
  type LedgerState,
  NO_FACTS,
  advance,
  decideEntry,
  decodeEntry,
  emptyLedgerState,
  encodeEntry,
  encodeGroup,
} from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { holdCeremony } from "@event-anchoring/provision";
import { WORLD_START_MS } from "@event-anchoring/simulator";
import { Certifier, type HeldCertificate } from "../src/certification/certifier.ts";
import { Comparison } from "../src/certification/comparison.ts";
import type { NodeIdentity } from "../src/ports/identity.ts";
import type { SignedHead } from "../src/promises/promise-file.ts";
import { type Deferred, StepClock, quietLogger, settle } from "./doubles.ts";
import { actsOf, identityOf } from "./ceremony.ts";
import { createKeyCommand } from "./commands.ts";

const NODE_IDS = ["a", "b", "c"] as const;
export const ceremony = holdCeremony({
  clusterName: "test.example/certifier",
  nodeIds: NODE_IDS,
  quorum: 2,
  rootKeys: 1,
  rootThreshold: 1,
  caSpkiSha256: new Uint8Array(32).fill(7),
  issuedS: WORLD_START_MS / 1000,
  expiresS: WORLD_START_MS / 1000 + 86_400,
});
const identities = new Map(NODE_IDS.map((nodeId) => [nodeId as string, identityOf(ceremony, nodeId)]));
export const ORIGIN = identityOf(ceremony, "a").originFingerprint;

export class Replica {
  readonly identity: NodeIdentity;
  readonly state: LedgerState = emptyLedgerState(nodeCrypto.sha256);
  readonly clock = new StepClock();
  readonly certifier: Certifier;
  readonly comparison: Comparison;
  readonly evidence: ReadonlyMap<string, string> = new Map();
  readonly said: PeerCosignature[] = [];
  readonly asked: PeerCosignature[] = [];
  readonly repliedTo: { to: string; items: readonly PeerCosignature[] }[] = [];
  readonly certificates: HeldCertificate[] = [];
  readonly contradictions: string[] = [];
  readonly forgotten: string[] = [];
  /** Lines over contradicted sizes, each time that they were sent. */
  readonly exchanged: (readonly HeadLine[])[] = [];
  readonly refused: string[] = [];
  readonly failures: unknown[] = [];
  readonly heads = new Map<string, SignedHead>();
  maySign = true;
  /** While set, promises wait for it. */
  saving: Deferred | null = null;

  constructor(nodeId: string, heads: readonly SignedHead[] = []) {
    const identity = identities.get(nodeId);
    if (identity === undefined) throw new Error(nodeId);
    this.identity = identity;
    for (const head of heads) this.heads.set(bytesToHex(head.originFingerprint), head);
    this.comparison = new Comparison({
      clock: this.clock,
      logger: quietLogger,
      crypto: nodeCrypto,
      state: this.state,
      nodeId,
      evidence: { load: async () => this.evidence, keep: async () => {} },
      evidenceKept: this.evidence,
      exchange: (lines) => this.exchanged.push(lines),
      onRefused: (from) => this.refused.push(from),
      onDiffers: (from, _point, detail) => this.contradictions.push(`${from}: ${detail}`),
      onForgotten: (detail) => this.forgotten.push(detail),
      onReleased: (origin) => this.certifier.onReleased(origin),
      onFailure: (error) => this.failures.push(error),
    });
    this.certifier = new Certifier({
      clock: this.clock,
      logger: quietLogger,
      crypto: nodeCrypto,
      state: this.state,
      nodeId,
      cosignerUnder: () => identity.cosigner,
      logSignerOf: identity.logSignerOf,
      promises: {
        headOf: (origin) => this.heads.get(bytesToHex(origin)) ?? null,
        promiseHeads: async (promised) => {
          for (const head of promised) this.heads.set(bytesToHex(head.originFingerprint), head);
          await this.saving?.promise;
        },
      },
      maySign: () => this.maySign,
      exchange: {
        send: (items) => this.said.push(...items),
        ask: (items) => this.asked.push(...items),
      },
      sendTo: (to, items) => this.repliedTo.push({ to, items }),
      onUncovered: () => {},
      onCosigned: () => {},
      onCertificate: (certificate) => this.certificates.push(certificate),
      comparison: this.comparison,
      onRefused: (from) => this.refused.push(from),
      onForgotten: (detail) => this.forgotten.push(detail),
      onFailure: (error) => this.failures.push(error),
    });
  }

  /** Decides one entry with these commands; a certify point, unless told otherwise. */
  apply(...commands: Command[]): void {
    const index = this.state.appliedIndex + 1;
    const groups = commands.map((command, at) =>
      encodeGroup({
        id: { node: 1n, incarnation: 1, counter: index * 100 + at },
        notAfter: 50_000,
        commands: [command],
      }),
    );
    const payload = encodeEntry({ version: 1, certify: true, acceptedMs: WORLD_START_MS, certificates: [], groups });
    const entry = decodeEntry(payload);
    const decision = decideEntry(this.state, { index, term: 1, entry }, NO_FACTS, nodeCrypto);
    advance(this.state, decision);
    this.certifier.onCertifyPoint({
      raftIndex: index,
      raftTerm: 1,
      effect: decision.effect,
      isEmpty: decision.writes.leaves.length === 0,
    });
  }

  async born(): Promise<this> {
    this.apply({ kind: "genesis", document: this.identity.configured.document });
    this.apply(actsOf(ceremony).signed(createKeyCommand()));
    await settle();
    return this;
  }

  /** A peer's cosignatures come, and somebody waits for what they certify. */
  hear(from: string, items: readonly PeerCosignature[]): void {
    this.certifier.onCosignatures(from, items, false);
    this.certifier.certifyNewest();
  }

  sizeHeld(): number {
    return this.certifier.heldOf(ORIGIN)?.treeSize ?? 0;
  }

  saidOf(treeSize: number, origin: OriginFingerprint = ORIGIN): PeerCosignature[] {
    return this.said.filter((item) => item.treeSize === treeSize && sameOrigin(item, origin));
  }
}

export function sameOrigin(item: PeerCosignature, origin: OriginFingerprint): boolean {
  return bytesToHex(item.originFingerprint) === bytesToHex(origin);
}
