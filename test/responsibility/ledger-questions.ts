/** Verify and trace of the ledger's public door, over the rows of a driver. */
import {
  LoadedRecords,
  leavesInView,
  recordsInView,
  targetsInView,
  traceEvent,
  verifyClaim,
  verifyEvent,
  verifyGrant,
} from "@event-anchoring/records";
import type { LeafWrite } from "@event-anchoring/ledger";
import type { AsOf, ClaimRecord, GrantRecord, RecordsInView, VerificationResult } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { RevocationLeaf } from "@event-anchoring/protocol";
import type { Authority } from "./expected-answers.ts";
import { HASH_CRYPTO } from "./ledger-driver.ts";
import type { LedgerDriver } from "./ledger-driver.ts";

/** There is no quorum here: what a receipt proves is not looked at. */
const OF_THE_RECEIPT: ReadonlySet<string> = new Set(["leaf", "parent", "inclusion", "certificate"]);

export class LedgerQuestions {
  readonly #driver: LedgerDriver;
  readonly #records: LoadedRecords;
  readonly #grants: readonly GrantRecord[];
  readonly #sequences: ReadonlyMap<string, number>;
  readonly #revocations: readonly { readonly leaf: RevocationLeaf; readonly write: LeafWrite }[];

  constructor(driver: LedgerDriver) {
    this.#driver = driver;
    this.#grants = [...driver.grants.values()];
    this.#records = new LoadedRecords([...driver.claims.values()], this.#grants);
    this.#sequences = new Map(driver.leaves.map((leaf) => [bytesToHex(leaf.anchorId), leaf.sequence]));
    this.#revocations = driver.leaves.flatMap((write) => {
      const leaf = decodeLeaf(write.bytes);
      return leaf.kind === LEAF_KIND.revocation ? [{ leaf, write }] : [];
    });
  }

  /** Names of the checks that fail, without those of the receipt. */
  failingOfClaim(sequence: number, at: AsOf): string[] {
    const view = { claims: [this.#claim(sequence)], grants: [] };
    return failing(verifyClaim({ ...this.#anchor(sequence, at), ...this.#evidence(view, [at], at) }, HASH_CRYPTO));
  }

  failingOfGrant(sequence: number, at: AsOf, trustedRoots: readonly number[] | null): string[] {
    const view = { claims: [], grants: [this.#grant(sequence)] };
    const roots = trustedRoots?.map((root) => this.#claim(root)) ?? null;
    const input = { ...this.#anchor(sequence, at), ...this.#evidence(view, [at], at), trustedRoots: roots };
    return failing(verifyGrant(input, HASH_CRYPTO));
  }

  failingOfEvent(sequence: number, at: AsOf): string[] {
    const leaf = decodeLeaf(this.#leaf(sequence).bytes);
    const isEvent = leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
    const iris = isEvent ? this.#sequences.get(bytesToHex(leaf.semanticAnchor.irisRef)) : undefined;
    const irisClaim = iris === undefined ? null : this.#leaf(iris);
    return failing(verifyEvent({ ...this.#anchor(sequence, at), eventHash: null, irisClaim }, HASH_CRYPTO));
  }

  trace(sequence: number, at: AsOf): Authority {
    const anchor = this.#leaf(sequence);
    const leaf = decodeLeaf(anchor.bytes);
    if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) throw new Error("not an event");
    const references = new Map(this.#driver.leaves.map((one) => [bytesToHex(one.anchorId), one]));
    const named = (id: Uint8Array): number => this.#sequences.get(bytesToHex(id)) ?? -1;
    const claims = [this.#driver.claims.get(named(leaf.semanticAnchor.irisRef))].filter((one) => one !== undefined);
    const grants = [this.#driver.grants.get(named(leaf.semanticAnchor.grantRef))].filter((one) => one !== undefined);
    const action = { sequence, timeMs: leaf.acceptedMs };
    const trace = traceEvent(
      {
        anchor,
        references,
        parents: [],
        beforeParents: this.#before(anchor),
        asOf: at,
        ...this.#evidence({ claims, grants }, [action, at], at),
        trustedRoots: null,
        possibleParents: { grants: this.#grants, records: this.#records },
      },
      HASH_CRYPTO,
    );
    const sequencesOf = (ids: readonly { readonly anchorId: Uint8Array }[]): number[] =>
      ids.map(({ anchorId }) => named(anchorId));
    return {
      isActorProven: trace.isActorProven,
      authorisedAtAction: trace.authorisedAtAction,
      authorisedNow: trace.authorisedNow,
      delegation: sequencesOf(trace.delegation.hops.map(({ grant }) => grant)),
      possibleParents: sequencesOf(trace.possibleParents.map((anchorId) => ({ anchorId }))),
      revocations: sequencesOf(trace.revocations),
      isSuspect: trace.isSuspect,
      actorState: trace.actor.state,
      isForeignKey: trace.violations.some(({ code }) => code === "actor_key_mismatch"),
    };
  }

  #claim(sequence: number): ClaimRecord {
    const claim = this.#driver.claims.get(sequence);
    if (claim === undefined) throw new RangeError(`no claim has sequence ${sequence}`);
    return claim;
  }

  #grant(sequence: number): GrantRecord {
    const grant = this.#driver.grants.get(sequence);
    if (grant === undefined) throw new RangeError(`no grant has sequence ${sequence}`);
    return grant;
  }

  #leaf(sequence: number): LeafWrite {
    const leaf = this.#driver.leaves[sequence];
    if (leaf === undefined) throw new RangeError(`no leaf has sequence ${sequence}`);
    return leaf;
  }

  #before(leaf: LeafWrite): LeafWrite | null {
    const origin = bytesToHex(leaf.originFingerprint);
    const isBefore = (one: LeafWrite): boolean =>
      bytesToHex(one.originFingerprint) === origin && one.depth === leaf.depth - 1;
    return this.#driver.leaves.find(isBefore) ?? null;
  }

  #anchor(sequence: number, asOf: AsOf) {
    const { anchorId, bytes, depth } = this.#leaf(sequence);
    const receipt = { leaf: bytes, index: depth, treeSize: depth + 1, path: [], checkpoint: "" };
    return { anchorId, receipt, parent: null, asOf, trustRoots: this.#driver.trustRoots };
  }

  #evidence(shown: RecordsInView, positions: readonly AsOf[], at: AsOf) {
    const view = recordsInView(shown, this.#records, positions, Infinity);
    const targets = new Set(targetsInView(view).map((sequence) => bytesToHex(this.#leaf(sequence).anchorId)));
    return {
      records: this.#records,
      leaves: leavesInView(view, at).map((sequence) => this.#leaf(sequence)),
      revocations: this.#revocations
        .filter(({ leaf }) => leaf.sequence <= at.sequence && targets.has(bytesToHex(leaf.targetAnchorId)))
        .map(({ write }) => write),
    };
  }
}

function failing({ checks }: VerificationResult): string[] {
  return checks
    .filter(({ code, result }) => result === "fail" && !OF_THE_RECEIPT.has(code))
    .map(({ code }) => code)
    .sort();
}
