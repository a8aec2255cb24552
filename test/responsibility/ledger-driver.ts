/** The ledger alone, through its public door: entries are decided and applied, rows are kept in plain maps. */
import {
  advance,
  apiKeyIdOf,
  clientEventKey,
  decideEntry,
  decodeEntry,
  emptyLedgerState,
  encodeEntry,
  factsNeeded,
  needsCertifyPoint,
  operatorActMessage,
} from "@event-anchoring/ledger";
import { LoadedRecords, claimPairHash } from "@event-anchoring/records";
import type {
  ClientEventFact,
  Command,
  CommandOutcome,
  ContentFact,
  Credential,
  EntryWrites,
  Facts,
  FactsQuery,
  FoundAnchor,
  LeafWrite,
  OperatorCommand,
  RecordOutcome,
  Scope,
} from "@event-anchoring/ledger";
import type { ClaimRecord, GrantRecord } from "@event-anchoring/records";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, concatBytes, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, Crypto, OriginFingerprint, TrustRootChain } from "@event-anchoring/protocol";
import { TestActs } from "@event-anchoring/testkit/records";
import type { Party } from "@event-anchoring/testkit/records";
import {
  CLUSTER_ID,
  GENESIS_DOCUMENT,
  NODE_A,
  NODE_B,
  NODE_C,
  OPERATOR,
  OPERATOR_SIGNER,
  successor,
} from "../worlds/cluster.ts";
import type { Act, Operation, Proposer } from "./operations.ts";
import {
  bytesOf,
  claimInputOf,
  eventInputOf,
  forge,
  grantInputOf,
  idOf,
  originNamed,
  revocationInputOf,
} from "./signed-input.ts";
import type { Names } from "./signed-input.ts";

const { sha256 } = nodeCrypto;

export const LEDGER_ORIGINS: ReadonlyMap<string, OriginFingerprint> = new Map([
  ["a", NODE_A.originFingerprint],
  ["b", NODE_B.originFingerprint],
  ["c", NODE_C.originFingerprint],
]);

/** Whom the trust root lists. */
export const LEDGER_OPERATOR = OPERATOR;

const CLOSED = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "closed" }]);
const LOST = successor([{ node: NODE_A }, { node: NODE_B }, { node: NODE_C, origin: "lost" }], CLOSED, 3);

export const LEDGER_PROPOSERS: readonly Proposer[] = [
  { key: "usual", client: "main", scopes: ["read", "write", "revoke"], isLive: true },
  { key: "admin", client: "main", scopes: ["write", "revoke", "admin"], isLive: true },
  { key: "writer", client: "other", scopes: ["write"], isLive: true },
  { key: "revoker", client: "other", scopes: ["revoke"], isLive: true },
  { key: "reader", client: "third", scopes: ["read", "admin"], isLive: true },
  { key: "revoked", client: "third", scopes: ["read", "write", "revoke", "admin"], isLive: false },
  { key: "unknown", client: "fourth", scopes: ["read", "write", "revoke", "admin"], isLive: false },
];

const keyHashOf = (proposer: Proposer): Uint8Array => bytesOf(`key ${proposer.key}`);
const clientIdOf = (proposer: Proposer): Uint8Array => bytesOf(`client ${proposer.client}`).slice(0, 16);

/** Parties whose signatures are hashes: the rules are what is tested, thousands of times in a second. */
const parties = new Map<string, Party>();

function hashParty(name: string): Party {
  const known = parties.get(name);
  if (known !== undefined) return known;
  const publicKey = bytesOf(`hash party ${name}`);
  const party = {
    publicKey,
    publicKeyHex: bytesToHex(publicKey),
    sign: (message: Uint8Array) => tagOf(publicKey, message),
  };
  parties.set(name, party);
  hashKeys.add(party.publicKeyHex);
  return party;
}

const hashKeys = new Set<string>();

function tagOf(publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  const half = sha256(concatBytes(publicKey, message));
  return concatBytes(half, sha256(half));
}

/** Trust roots are signed with real keys, parties with hashes. */
export const HASH_CRYPTO: Crypto = {
  sha256,
  ed25519Verify: (publicKey, message, signature) =>
    hashKeys.has(bytesToHex(publicKey))
      ? equalBytes(signature, tagOf(publicKey, message))
      : nodeCrypto.ed25519Verify(publicKey, message, signature),
};

/** An erasure was done, or there was nothing to do. */
export type Answered = RecordOutcome | { readonly status: "applied" | "unchanged" };

export class LedgerDriver implements Names {
  readonly #state = emptyLedgerState(sha256);
  readonly leaves: LeafWrite[] = [];
  readonly #anchors = new Map<string, FoundAnchor>();
  readonly #clientEvents = new Map<string, ClientEventFact>();
  readonly #contents = new Map<string, ContentFact>();
  readonly claims = new Map<number, ClaimRecord>();
  readonly grants = new Map<number, GrantRecord>();
  readonly #acts = new TestActs({ clusterId: CLUSTER_ID, epoch: 0 }, OPERATOR, OPERATOR_SIGNER.sign);
  #groups = 0;

  constructor() {
    this.#run(1_800_000_000_000, { kind: "genesis", document: GENESIS_DOCUMENT });
    for (const proposer of LEDGER_PROPOSERS.filter(({ key }) => key !== "unknown")) {
      const scopes = proposer.scopes as readonly Scope[];
      const key = { keyHash: keyHashOf(proposer), apiClientId: clientIdOf(proposer), label: proposer.key, scopes };
      const more = { expiresMs: 0, requestsPerSecond: 0 };
      this.#run(1_800_000_000_000, { kind: "create_api_key", key: { ...key, ...more } });
      if (proposer.isLive) continue;
      const keyId = apiKeyIdOf(keyHashOf(proposer));
      this.#run(1_800_000_000_000, { kind: "revoke_api_key", keyId });
    }
  }

  get trustRoots(): TrustRootChain {
    const { trustRootChain } = this.#state;
    if (trustRootChain === null) throw new Error("a driver begins with genesis");
    return trustRootChain;
  }

  /** Closes origin c, then gives it up for lost. @returns how many leaves that has appended */
  turnOrigin(status: "closed" | "lost", stampMs: number): number {
    const before = this.leaves.length;
    const [outcome] = this.#run(stampMs, { kind: "trust_root", document: status === "closed" ? CLOSED : LOST });
    if (outcome?.kind !== "applied") throw new Error(`the trust root is ${outcome?.kind}`);
    return this.leaves.length - before;
  }

  /** All of them in one entry. */
  runEntry(operations: readonly Operation[], stampMs: number): Answered[] {
    const commands = operations.map((operation) => this.#commandOf(operation));
    return this.#run(stampMs, ...commands).map((outcome): Answered => {
      if (outcome.kind === "rejected") return { status: "rejected", rejection: outcome.rejection };
      if (outcome.kind !== "records") return { status: outcome.kind };
      const [first] = outcome.records;
      if (first === undefined) throw new Error("a command that records has recorded nothing");
      return first;
    });
  }

  /** Counter of the act that made the last API key. */
  get counter(): number {
    return this.#acts.counter;
  }

  origin(name: string): OriginFingerprint {
    return originNamed(LEDGER_ORIGINS, name);
  }

  anchorId(sequence: number): AnchorId {
    return this.#leaf(sequence).anchorId;
  }

  originOf(sequence: number): OriginFingerprint {
    return this.#leaf(sequence).originFingerprint;
  }

  party(name: string): Party {
    return hashParty(name);
  }

  #leaf(sequence: number): LeafWrite {
    const leaf = this.leaves[sequence];
    if (leaf === undefined) throw new RangeError(`no leaf has sequence ${sequence}`);
    return leaf;
  }

  #commandOf(operation: Operation): Command {
    const { by } = operation;
    const credential: Credential = { apiClientId: clientIdOf(by), keyId: apiKeyIdOf(keyHashOf(by)) };
    switch (operation.kind) {
      case "claim":
        return { kind: "record_claim", credential, claim: claimInputOf(operation, this) };
      case "grant":
        return { kind: "record_grant", credential, grant: grantInputOf(operation, this) };
      case "revocation": {
        const { act } = operation;
        const revocation = revocationInputOf(operation, this);
        if (act === null) return { kind: "record_revocation", credential, revocation };
        return actOf(act, { kind: "record_revocation", credential: null, revocation });
      }
      case "erasure": {
        const anchorId = idOf(operation.target, this);
        const { act } = operation;
        if (act === null) return { kind: "erase_client_event", credential, anchorId };
        return actOf(act, { kind: "erase_client_event", credential: null, anchorId });
      }
      case "event":
        return { kind: "record_events", credential, atomic: false, events: [eventInputOf(operation, this)] };
    }
  }

  #run(acceptedMs: number, ...commands: readonly Command[]): readonly CommandOutcome[] {
    const { appliedIndex } = this.#state;
    const id = { node: 7n, incarnation: 1, counter: this.#groups++ };
    const signed = commands.map((command) => this.#acts.signed(command));
    const group = { id, notAfter: appliedIndex + 50_000, commands: signed };
    const certify = commands.some(needsCertifyPoint);
    const bytes = encodeEntry({ version: 1, certify, acceptedMs, certificates: [], groups: [group] });
    const entry = decodeEntry(bytes);
    const committed = { index: appliedIndex + 1, term: 1, entry };
    const decision = decideEntry(this.#state, committed, this.#facts(factsNeeded(entry, this.#state)), HASH_CRYPTO);
    advance(this.#state, decision);
    this.#write(decision.writes);
    const [outcome] = decision.outcomes;
    if (outcome?.status !== "decided") throw new Error(`the group is ${outcome?.status}`);
    return outcome.commands;
  }

  #write(writes: EntryWrites): void {
    for (const leaf of writes.leaves) {
      this.leaves.push(leaf);
      this.#anchors.set(bytesToHex(leaf.anchorId), { ...leaf, clientEvent: null });
    }
    for (const write of writes.clientEvents) {
      const { apiClientId, clientEventId } = write;
      this.#clientEvents.set(clientEventKey(apiClientId, clientEventId), { ...write, isErased: false });
      this.#setClientEvent(write.anchorId, { apiClientId, isErased: false });
    }
    for (const { anchorId } of writes.erasures) {
      const event = this.#anchors.get(bytesToHex(anchorId))?.clientEvent ?? null;
      this.#setClientEvent(anchorId, event && { ...event, isErased: true });
      for (const [key, fact] of this.#clientEvents)
        if (equalBytes(fact.anchorId, anchorId)) this.#clientEvents.set(key, { ...fact, isErased: true });
    }
    for (const write of writes.contents) this.#contents.set(bytesToHex(write.contentHash), write);
    for (const claim of writes.claims) this.claims.set(claim.sequence, claim);
    for (const grant of writes.grants) this.grants.set(grant.sequence, grant);
    for (const claim of writes.endedClaims) this.claims.set(claim.sequence, claim);
    for (const grant of writes.endedGrants) this.grants.set(grant.sequence, grant);
  }

  #setClientEvent(anchorId: AnchorId, clientEvent: FoundAnchor["clientEvent"]): void {
    const anchor = this.#anchors.get(bytesToHex(anchorId));
    if (anchor !== undefined) this.#anchors.set(bytesToHex(anchorId), { ...anchor, clientEvent });
  }

  /** What is asked for, and nothing else. */
  #facts(query: FactsQuery): Facts {
    const clientEventKeys = query.clientEvents.map((one) => clientEventKey(one.apiClientId, one.clientEventId));
    const anchorKeys = [...query.anchors, ...query.records].map((anchorId) => bytesToHex(anchorId));
    return {
      clientEvents: chosen(this.#clientEvents, clientEventKeys),
      anchors: chosen(this.#anchors, anchorKeys),
      contents: chosen(this.#contents, query.contents.map(bytesToHex)),
      records: this.#recordsFor(query),
    };
  }

  #recordsFor(query: FactsQuery): LoadedRecords {
    const claims = new Set<ClaimRecord>();
    const grants = new Set<GrantRecord>();
    const all = [...this.claims.values()];
    const addClaim = (sequence: number): void => {
      const claim = this.claims.get(sequence);
      const newest = all.findLast(({ lineage }) => lineage === claim?.lineage);
      for (const one of [claim, newest]) if (one !== undefined) claims.add(one);
    };
    const sequenceOf = (anchorId: AnchorId): number => this.#anchors.get(bytesToHex(anchorId))?.sequence ?? -1;
    for (const anchorId of query.records) {
      addClaim(sequenceOf(anchorId));
      for (let grant = this.grants.get(sequenceOf(anchorId)); grant !== undefined;) {
        grants.add(grant);
        addClaim(grant.grantorClaim);
        addClaim(grant.granteeClaim);
        grant = grant.parent === null ? undefined : this.grants.get(grant.parent);
      }
    }
    for (const { grantorClaim, granteeClaim } of query.grantParties) {
      const [grantor, grantee] = [grantorClaim, granteeClaim].map((id) => this.claims.get(sequenceOf(id))?.lineage);
      const newest = [...this.grants.values()].findLast(
        (one) => one.grantorLineage === grantor && one.granteeLineage === grantee,
      );
      if (newest !== undefined) grants.add(newest);
    }
    const pairs = query.claimPairs.flatMap((pair): [string, ClaimRecord][] => {
      const newest = all.findLast((claim) => equalBytes(claimPairHash(claim, sha256), pair));
      return newest === undefined ? [] : [[bytesToHex(pair), newest]];
    });
    return new LoadedRecords([...claims], [...grants], new Map(pairs));
  }
}

/** As the operator signs it; or, if it is forged, with one bit changed. */
function actOf({ operator, counter, isForged }: Act, command: OperatorCommand): Command {
  const message = operatorActMessage({ clusterId: CLUSTER_ID, epoch: 0 }, { operator, counter }, command);
  const signature = OPERATOR_SIGNER.sign(message);
  return { kind: "operator_act", operator, counter, signature: isForged ? forge(signature) : signature, command };
}

function chosen<Value>(from: ReadonlyMap<string, Value>, keys: readonly string[]): Map<string, Value> {
  return new Map(
    keys.flatMap((key): [string, Value][] => {
      const value = from.get(key);
      return value === undefined ? [] : [[key, value]];
    }),
  );
}
