import type { TrustRootChain } from "@event-anchoring/protocol";
import type { ClaimAnchor, GrantAnchor } from "./anchors.ts";
import type { Reader } from "./answer-reader.ts";
import {
  readActiveClaim,
  readActiveGrant,
  readConsistency,
  readCreatedBatch,
  readCreatedClaim,
  readCreatedEvent,
  readCreatedGrant,
  readErased,
  readFoundAnchor,
  readBareReceipt,
  readLatest,
  readRevoked,
} from "./answers.ts";
import type {
  ActiveClaim,
  ActiveGrant,
  Answered,
  ConsistencyAnswer,
  Created,
  CreatedBatch,
  CreatedEvent,
  Erased,
  EventList,
  FoundAnchor,
  LatestAnchor,
  Revoked,
} from "./answers.ts";
import {
  readTracePage,
  readVerified,
  readVerifiedBatch,
  readVerifiedClaim,
  readVerifiedGrant,
} from "./authority-answers.ts";
import type {
  ClaimHistory,
  GrantHistory,
  HistoryItem,
  Trace,
  TracePage,
  Verified,
  VerifiedBatch,
  VerifiedClaim,
  VerifiedGrant,
} from "./authority-answers.ts";
import { Caller, OPEN } from "./caller.ts";
import type { Operation } from "./caller.ts";
import { clientSettings } from "./client-options.ts";
import type { BatchOptions, CallOptions, ClientOptions, ClientSettings, WriteOptions } from "./client-options.ts";
import { createMany } from "./create-many.ts";
import type { ManyEvents, ManyItem, ManyOptions } from "./create-many.ts";
import { followHeads } from "./follow-heads.ts";
import type { FollowQuestion, FollowedHead } from "./follow-heads.ts";
import { holdBatch, holdConsistency, holdContent, holdId, holdLatest, holdOrigin, holdRecord } from "./held.ts";
import { batchOf, batchToVerify } from "./event-batch.ts";
import { attributeType, hex32 } from "./inputs.ts";
import type { Bytes32 } from "./inputs.ts";
import { eachItem, listClaims, listEvents, listGrants } from "./lists.ts";
import { isReadiness, readHealth, readLimits, readOpenApi, readReadiness, readTrustRoot } from "./node-answers.ts";
import type { Health, Limits, Readiness, TrustRootAnswer } from "./node-answers.ts";
import { wholeTrace } from "./whole-trace.ts";
import { anchorPath, consistencyQuery, latestQuery } from "./query-inputs.ts";
import type { RawAnswer, RawRequest } from "./raw-request.ts";
import type {
  AnchorToVerify,
  AsOfQuestion,
  ChainQuestion,
  ClaimFilter,
  ConsistencyQuestion,
  EventFilter,
  GrantFilter,
  LatestQuestion,
  PageInput,
  ProvableQuestion,
  VerifyEventQuestion,
} from "./query-inputs.ts";
import { ReceiptGuard } from "./receipt-guard.ts";
import type { Receipt } from "./receipt.ts";
import { chosenClientEventId, claimRequest, eventRequest, grantRequest, revocationRequest } from "./signed-requests.ts";
import type {
  ClaimAnchorInput,
  EventInput,
  EventToCreate,
  GrantAnchorInput,
  RevocationInput,
  SignedRequest,
} from "./signed-requests.ts";
import { hashesOfTile, leavesOfBundle, noteOf, placeOfEntries, placeOfTile } from "./tiles.ts";
import type { EntriesPlace, TilePlace } from "./tiles.ts";
import { claimToVerify, eventToVerify, grantToVerify, pageToTrace } from "./verdict-questions.ts";
import type { VerdictQuestion } from "./verdict-questions.ts";

const BYTES = "application/octet-stream";

/**
 * A client of one cluster. Every method answers a typed result with the `requestId`, or throws an AnchoringError.
 *
 *     const client = new Client({ endpoints: ["https://a.example", "https://b.example"], apiKey });
 *     const { anchor, receipt } = await client.createEventAnchor(eventHash);
 */
export class Client {
  readonly #settings: ClientSettings;
  readonly #caller: Caller;
  readonly #guard: ReceiptGuard;
  #origin: Promise<string> | null;

  /** @throws InvalidInput */
  constructor(options: ClientOptions) {
    this.#settings = clientSettings(options);
    this.#caller = new Caller(this.#settings);
    this.#guard = new ReceiptGuard(this.#settings.trustRoot, async () => (await this.trustRoot()).chain);
    const { originFingerprint } = this.#settings;
    this.#origin = originFingerprint === null ? null : Promise.resolve(originFingerprint);
  }

  /** The endpoints alone: an API key is never printed. */
  toJSON(): { readonly endpoints: readonly string[] } {
    return { endpoints: this.#settings.endpoints };
  }

  /** The trust root that receipts of answers are verified by; null if the client was made without one. */
  get heldTrustRoot(): TrustRootChain | null {
    return this.#guard.trustRoot;
  }

  /** What writes name: as configured, or as /healthz said at first use. It is kept from then on. */
  async originFingerprint(options: CallOptions = {}): Promise<string> {
    const pending = this.#origin ?? this.healthz(options).then((health) => health.originFingerprint);
    this.#origin = pending;
    try {
      return await pending;
    } catch (error) {
      // The next write asks again: what failed is not kept.
      if (this.#origin === pending) this.#origin = null;
      throw error;
    }
  }

  /** Health of the node, its origin fingerprint, and the Prime RootTHK sync summary. Needs no key. */
  healthz(options: CallOptions = {}): Promise<Answered<Health>> {
    return this.#caller.ask({ path: "/healthz", isPublic: true, isKeyWelcome: true }, readHealth, options);
  }

  /** Whether the node serves, and which checks fail. Answers also if it is not ready. Needs no key. */
  readyz(options: CallOptions = {}): Promise<Answered<Readiness>> {
    return this.#caller.ask({ path: "/readyz", isPublic: true, isAnswer: isReadiness }, readReadiness, options);
  }

  /** Every number that bounds a request. Needs no key. */
  limits(options: CallOptions = {}): Promise<Answered<Limits>> {
    return this.#caller.ask({ path: "/v1/limits", isPublic: true }, readLimits, options);
  }

  /** The chain of trust roots, to be handed to `verifyTrustRoot` with a pin. Needs no key. */
  trustRoot(options: CallOptions = {}): Promise<Answered<TrustRootAnswer>> {
    return this.#caller.ask({ path: "/v1/trust-root", isPublic: true }, readTrustRoot, options);
  }

  /** The OpenAPI document of the node. Needs no key. */
  openApi(options: CallOptions = {}): Promise<Answered<{ readonly document: Readonly<Record<string, unknown>> }>> {
    return this.#caller.ask({ path: "/openapi.json", isPublic: true }, readOpenApi, options);
  }

  /**
   * Records an identity, signed by its subject and then by its issuer. The same content again is the same anchor.
   * @throws InvalidInput, SigningFailed; Conflict `claim_conflict`, Unprocessable, OutcomeUnknown, …
   */
  async createClaimAnchor(
    input: ClaimAnchorInput,
    options: WriteOptions = {},
  ): Promise<Answered<Created<ClaimAnchor>>> {
    const request = await claimRequest(input, input.originFingerprint ?? (await this.originFingerprint(options)));
    return this.#write("/v1/claim-anchors", request, readCreatedClaim, options);
  }

  /**
   * Records a delegation, signed by its grantor and then by a witness. The same content again is the same anchor.
   * @throws InvalidInput, SigningFailed; Unprocessable such as `claim_not_in_force`, OutcomeUnknown, …
   */
  async createGrantAnchor(
    input: GrantAnchorInput,
    options: WriteOptions = {},
  ): Promise<Answered<Created<GrantAnchor>>> {
    const request = await grantRequest(input, input.originFingerprint ?? (await this.originFingerprint(options)));
    return this.#write("/v1/grant-anchors", request, readCreatedGrant, options);
  }

  /**
   * Anchors an event. It has a `clientEventId` before its first try, a new one unless you give or forbid one, so that
   * asking again is safe; the result has it.
   * @param eventHash SHA-256 of the event
   * @throws InvalidInput, SigningFailed; OutcomeUnknown with the `clientEventId` to ask again with, …
   */
  async createEventAnchor(
    eventHash: Bytes32,
    event: EventInput = {},
    options: WriteOptions = {},
  ): Promise<Answered<CreatedEvent>> {
    const id = chosenClientEventId(event.clientEventId);
    const origin = event.originFingerprint ?? (await this.originFingerprint(options));
    const request = await eventRequest(eventHash, event, origin, id);
    const known = { isRepeatable: id !== null, clientEventIds: [id] };
    const created = await this.#write("/v1/event-anchors", request, readCreatedEvent, options, known);
    return { ...created, clientEventId: id };
  }

  /**
   * Anchors many events, at most `limits().batchItemsMax`, decided as one. Each has a `clientEventId` as a single one
   * has; the result has all of them, and so has an OutcomeUnknown.
   */
  async createEventAnchors(
    events: readonly EventToCreate[],
    options: BatchOptions = {},
  ): Promise<Answered<CreatedBatch & { readonly clientEventIds: readonly (string | null)[] }>> {
    const origin = await this.originFingerprint(options);
    const { operation, requests, clientEventIds } = await batchOf(events, origin, options);
    const created = await this.#caller.ask(operation, readCreatedBatch(requests.length), options);
    for (const [at, { receipt, anchor }] of created.results.entries()) {
      const request = requests[at];
      if (anchor === null || request === undefined) continue;
      holdRecord(anchor, request);
      await this.#guard.check(receipt, anchor.anchorId);
    }
    return { ...created, clientEventIds };
  }

  /** Anchors any number of events, in batches; an item for each, in order. @throws ManyInterrupted with what is left */
  createMany(events: ManyEvents, options: ManyOptions = {}): AsyncGenerator<ManyItem> {
    return createMany((batch, of) => this.createEventAnchors(batch, of), events, options);
  }

  /** Records the revocation of a claim. It cannot be taken back. Without a revoker it needs the scope `revoke`. */
  revokeClaimAnchor(
    anchorId: Bytes32,
    revocation: RevocationInput = {},
    options: WriteOptions = {},
  ): Promise<Answered<Revoked>> {
    return this.#revoke("claim", anchorId, revocation, options);
  }

  /** Records the revocation of a grant. It cannot be taken back. Without a revoker it needs the scope `revoke`. */
  revokeGrantAnchor(
    anchorId: Bytes32,
    revocation: RevocationInput = {},
    options: WriteOptions = {},
  ): Promise<Answered<Revoked>> {
    return this.#revoke("grant", anchorId, revocation, options);
  }

  /** The active claim of an entity and attribute type. @throws NotFound `no_active_claim` */
  async getClaimAnchor(
    entityFingerprint: Bytes32,
    type: number | string,
    options: CallOptions = {},
  ): Promise<Answered<ActiveClaim>> {
    const query = {
      entity_fingerprint: hex32("entityFingerprint", entityFingerprint),
      attribute_type: attributeType("attributeType", type),
    };
    const found = await this.#read({ path: "/v1/claim-anchors", query }, readActiveClaim, options);
    const { anchor } = found;
    holdContent(anchor.entityFingerprint === query.entity_fingerprint && anchor.attributeType === query.attribute_type);
    return found;
  }

  /** The grant in force from one entity to another. @throws NotFound `no_active_grant` */
  getGrantAnchor(grantor: Bytes32, grantee: Bytes32, options: CallOptions = {}): Promise<Answered<ActiveGrant>> {
    const query = {
      grantor_fingerprint: hex32("grantorFingerprint", grantor),
      grantee_fingerprint: hex32("granteeFingerprint", grantee),
    };
    return this.#read({ path: "/v1/grant-anchors", query }, readActiveGrant, options);
  }

  /** One anchor of any kind, with a receipt of now. @param options `respondAsync`: do not wait for it; `witnessed` */
  getAnchor(anchorId: Bytes32, options: WriteOptions = {}): Promise<Answered<FoundAnchor>> {
    return this.#read({ path: anchorPath(anchorId) }, readFoundAnchor, options, anchorId);
  }

  /** The receipt of an anchor, of now; at a public log without a key. @param options `witnessed`, how long to `wait` */
  async getReceipt(anchorId: Bytes32, options: WriteOptions = {}): Promise<Receipt> {
    const path = `${anchorPath(anchorId)}/receipt`;
    const { receipt } = await this.#caller.ask({ path, ...OPEN }, readBareReceipt, options);
    await this.#guard.check(receipt, anchorId);
    return receipt;
  }

  /** A page of certified events. */
  listEventAnchors(filter: EventFilter, page: PageInput = {}, options: CallOptions = {}): Promise<Answered<EventList>> {
    return listEvents(this.#caller, filter, page, options);
  }

  /** All certified events of a filter, page by page. */
  iterateEventAnchors(filter: EventFilter, options: CallOptions = {}): AsyncGenerator<EventList["items"][number]> {
    return eachItem((page) => this.listEventAnchors(filter, page, options));
  }

  /** A page of all claims of an entity, with how each has ended. */
  listClaimAnchors(
    filter: ClaimFilter,
    page: PageInput = {},
    options: CallOptions = {},
  ): Promise<Answered<ClaimHistory>> {
    return listClaims(this.#caller, filter, page, options);
  }

  /** All of them, page by page. */
  iterateClaimAnchors(filter: ClaimFilter, options: CallOptions = {}): AsyncGenerator<HistoryItem<ClaimAnchor>> {
    return eachItem((page) => this.listClaimAnchors(filter, page, options));
  }

  /** A page of all grants of a grantor, to a grantee, or from one to the other, with how each has ended. */
  listGrantAnchors(
    filter: GrantFilter,
    page: PageInput = {},
    options: CallOptions = {},
  ): Promise<Answered<GrantHistory>> {
    return listGrants(this.#caller, filter, page, options);
  }

  /** All of them, page by page. */
  iterateGrantAnchors(filter: GrantFilter, options: CallOptions = {}): AsyncGenerator<HistoryItem<GrantAnchor>> {
    return eachItem((page) => this.listGrantAnchors(filter, page, options));
  }

  /** The service's word on one anchor of any kind. What needs no trust in it is the receipt beside it. */
  verifyEventAnchor(
    anchorId: Bytes32,
    question: VerifyEventQuestion = {},
    options: CallOptions = {},
  ): Promise<Answered<Verified>> {
    return this.#verdict(eventToVerify(anchorId, question), readVerified, options);
  }

  /** The same for many; an unknown id is the problem of its item. */
  async verifyEventAnchors(
    anchors: readonly AnchorToVerify[],
    question: AsOfQuestion = {},
    options: CallOptions = {},
  ): Promise<Answered<VerifiedBatch>> {
    const found = await this.#caller.ask(batchToVerify(anchors, question), readVerifiedBatch, options);
    holdBatch(found, anchors);
    return found;
  }

  /** The service's word on a claim: signatures, anchor, revocation state. */
  verifyClaimAnchor(
    anchorId: Bytes32,
    question: ProvableQuestion = {},
    options: CallOptions = {},
  ): Promise<Answered<VerifiedClaim>> {
    return this.#verdict(claimToVerify(anchorId, question), readVerifiedClaim, options);
  }

  /** The service's word on a grant: signatures, the delegation chain, the claims it hangs on. */
  verifyGrantAnchor(
    anchorId: Bytes32,
    question: ChainQuestion = {},
    options: CallOptions = {},
  ): Promise<Answered<VerifiedGrant>> {
    return this.#verdict(grantToVerify(anchorId, question), readVerifiedGrant, options);
  }

  /**
   * From an act back to who acted, who delegated, and within what bounds: the service's word. A long delegation comes
   * in pages of hops, and all of them are fetched.
   */
  async trace(
    anchorId: Bytes32,
    question: ChainQuestion & PageInput = {},
    options: CallOptions = {},
  ): Promise<Answered<Trace>> {
    return wholeTrace((hops) => this.#verdict(pageToTrace(anchorId, question, hops), readTracePage, options));
  }

  /**
   * The latest certified anchor (EEA) of an origin. A Monitor holds it against what was seen before.
   */
  async latest(question: LatestQuestion = {}, options: CallOptions = {}): Promise<Answered<LatestAnchor>> {
    const query = latestQuery(question);
    const operation = { path: "/v1/event-anchors/latest", query, waitMs: (query.wait ?? 0) * 1000 };
    const latest = await this.#caller.ask(operation, readLatest, options);
    holdLatest(latest, latest.requestId);
    holdOrigin(latest.originFingerprint, query.origin_fingerprint);
    await this.#guard.check(latest.receipt, latest.anchor.anchorId);
    return latest;
  }

  /** The heads of an origin as they come, each verified before you have it, until you end it. Needs a `trustRoot`. */
  followHeads(question: FollowQuestion = {}, options: CallOptions = {}): AsyncGenerator<FollowedHead> {
    return followHeads({ client: this, guard: this.#guard, settings: this.#settings }, question, options);
  }

  /** Proof that one tree of an origin is the beginning of another. It is verified; whose roots they are is not. */
  async consistency(question: ConsistencyQuestion, options: CallOptions = {}): Promise<Answered<ConsistencyAnswer>> {
    const query = consistencyQuery(question);
    const found = await this.#caller.ask({ path: "/v1/event-anchors/consistency", query }, readConsistency, options);
    holdOrigin(found.originFingerprint, query.origin_fingerprint);
    holdConsistency(found, query.from_size, query.to_size);
    return found;
  }

  /**
   * Asks any route, with the retries of every call and the API key if there is one; of the answer nothing is checked.
   * @throws AnchoringError
   */
  request(request: RawRequest, options: WriteOptions = {}): Promise<RawAnswer> {
    return this.#caller.request(request, options);
  }

  /** Erases the clear text of an event's client event id. Needs the scope `admin`. */
  async eraseClientEventId(anchorId: Bytes32, options: CallOptions = {}): Promise<Answered<Erased>> {
    const path = `${anchorPath(anchorId)}/erase-client-event-id`;
    const erased = await this.#caller.ask({ method: "POST", path, body: {}, isWrite: true }, readErased, options);
    holdId(erased.anchor, hex32("anchorId", anchorId));
    return erased;
  }

  /** The newest certified checkpoint of an origin: a signed note, for `verifyCheckpoint`. A public log needs no key. */
  getCheckpoint(originFingerprint: Bytes32, options: CallOptions = {}): Promise<string> {
    const origin = hex32("originFingerprint", originFingerprint);
    const operation = { path: `/v1/origins/${origin}/checkpoint`, accept: "text/plain", ...OPEN };
    return this.#caller.askBytes(operation, (body) => noteOf(body, origin), options);
  }

  /** The hashes of a C2SP tile: worth what a checkpoint's root says of them. A public log needs no key. */
  getTile(originFingerprint: Bytes32, tile: TilePlace, options: CallOptions = {}): Promise<readonly Uint8Array[]> {
    const { path, width } = placeOfTile(originFingerprint, tile);
    return this.#caller.askBytes({ path, accept: BYTES, ...OPEN }, (body) => hashesOfTile(body, width), options);
  }

  /** The leaves of a C2SP entry bundle; each hashes to its anchor id. A public log needs no key. */
  getEntries(
    originFingerprint: Bytes32,
    bundle: EntriesPlace,
    options: CallOptions = {},
  ): Promise<readonly Uint8Array[]> {
    const { path, width } = placeOfEntries(originFingerprint, bundle);
    return this.#caller.askBytes({ path, accept: BYTES, ...OPEN }, (body) => leavesOfBundle(body, width), options);
  }

  async #revoke(
    kind: "claim" | "grant",
    anchorId: Bytes32,
    revocation: RevocationInput,
    options: WriteOptions,
  ): Promise<Answered<Revoked>> {
    const target = hex32("anchorId", anchorId);
    const targetOrigin = async (): Promise<string> =>
      (await this.getAnchor(target, { signal: options.signal, respondAsync: true })).anchor.originFingerprint;
    const request = await revocationRequest(anchorId, revocation, targetOrigin);
    const revoked = await this.#write(`/v1/${kind}-anchors/${target}/revoke`, request, readRevoked, options);
    holdContent(revoked.revokedAnchorId === target);
    return revoked;
  }

  /** A write of one record, whose receipt has to be about what was signed. */
  async #write<Result extends Created>(
    path: string,
    request: SignedRequest,
    read: Reader<Result>,
    options: WriteOptions,
    known: Pick<Operation, "isRepeatable" | "clientEventIds"> = {},
  ): Promise<Answered<Result>> {
    const operation: Operation = { method: "POST", path, body: request.body, isWrite: true, ...known };
    const result = await this.#caller.ask(operation, read, options);
    holdRecord(result.anchor, request);
    await this.#guard.check(result.receipt, result.anchor.anchorId);
    return result;
  }

  /** A verdict that is about what was asked for, with the proof of it that was asked for. */
  async #verdict<Result extends Verified | TracePage>(
    { operation, expectation, wantsProof }: VerdictQuestion,
    read: Reader<Result>,
    options: CallOptions,
  ): Promise<Answered<Result>> {
    if (wantsProof) this.#guard.assertTrustRoot();
    const result = await this.#read(operation, read, options, expectation.anchorId);
    if (wantsProof) await this.#guard.checkProof(result, expectation);
    return Object.assign(result, { proof: wantsProof ? result.proof : null });
  }

  /** A read of an anchor with its receipt. @param asked the anchor that it has to be about */
  async #read<Result extends FoundAnchor>(
    operation: Operation,
    read: Reader<Result>,
    options: WriteOptions,
    asked: Bytes32 | null = null,
  ): Promise<Answered<Result>> {
    const result = await this.#caller.ask(operation, read, options);
    if (asked !== null) holdId(result.anchor, hex32("anchorId", asked));
    await this.#guard.check(result.receipt, result.anchor.anchorId);
    return result;
  }
}
