/** From a batch of events to what the service says of each. */
import type { Anchor } from "../anchors.ts";
import type { BatchItem } from "../answers.ts";
import type { Client } from "../client.ts";
import { AnchoringError, ApiProblem, InvalidInput } from "../errors.ts";
import { hex32 } from "../inputs.ts";
import type { JsonBody } from "../json-body.ts";
import type { SemanticAnchorInput } from "../prepare-event.ts";
import type { Receipt } from "../receipt.ts";
import type { EventToCreate } from "../signed-requests.ts";
import type { Signer } from "../signing.ts";
import { fromWireNames } from "../wire-names.ts";
import { EventRefused } from "./errors.ts";
import type { WaitingEvent } from "./waiting-event.ts";

/**
 * `again`: it stays in the spool. The error is what the client said, null if only the receipt is missing. It is for all
 * if no other event would do better now: nobody answers, say.
 */
export type ServiceOutcome =
  | { readonly kind: "anchored"; readonly anchor: Anchor; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly error: EventRefused }
  | { readonly kind: "again"; readonly error: Error | null; readonly isForAll: boolean };

/** Statuses that are about the event itself: it would be refused again. */
const ABOUT_THE_EVENT: ReadonlySet<number> = new Set([400, 404, 409, 410, 413, 422]);
/** Statuses of a whole batch for which some event in it may be the reason. */
const ABOUT_SOME_EVENT: ReadonlySet<number> = new Set([400, 413, 422]);
/**
 * Codes that are never about an event: a closed or lost origin, for which another one takes it; and what the client
 * calls an answer without a code, which something between it and the service has given.
 */
const ABOUT_NO_EVENT = /^(?:origin|http)_/;

function requestOf({ handle, eventHash, fields }: WaitingEvent, signer: Signer | undefined): EventToCreate {
  const event = { eventHash, clientEventId: handle.clientEventId };
  if (fields === null) return event;
  const { semanticAnchor, actorPublicKey, actorSignature } = fromWireNames(
    JSON.parse(fields) as Readonly<Record<string, unknown>>,
  ) as { semanticAnchor?: SemanticAnchorInput; actorPublicKey?: string; actorSignature?: string };
  const said = semanticAnchor === undefined ? event : { ...event, semanticAnchor };
  if (actorPublicKey === undefined) return said;
  if (actorSignature !== undefined) return { ...said, actorPublicKey, actorSignature };
  // The spool has no key: what was recorded for a signer waits until a recorder has that signer.
  if (signer === undefined || hex32("publicKey", signer.publicKey) !== actorPublicKey) {
    throw new InvalidInput("actorSigner", `expected that of ${actorPublicKey}`);
  }
  return { ...said, actorPublicKey, actorSigner: signer };
}

/** Only this event has to be sent again. */
function again(error: Error | null): ServiceOutcome {
  return { kind: "again", error, isForAll: false };
}

function outcomeOf(item: BatchItem, event: WaitingEvent): ServiceOutcome {
  const { anchor, receipt, problem } = item;
  if (anchor !== null) return receipt === null ? again(null) : { kind: "anchored", anchor, receipt };
  if (problem === null) return again(new AnchoringError("answer_malformed", "neither anchor nor problem"));
  const { code, detail, status } = problem;
  if (ABOUT_THE_EVENT.has(status) && !ABOUT_NO_EVENT.test(code)) {
    return { kind: "refused", error: new EventRefused(code, detail, event.handle.clientEventId, status) };
  }
  return again(new AnchoringError(code, detail));
}

/** An event, and what asks for it. */
type EventToAskFor = readonly [WaitingEvent, EventToCreate];

/**
 * Asks for a batch. If the service refuses the whole for what one of them is, halves are asked for, so that the one is
 * found and the others are anchored.
 * @returns parallel to the events; never throws for what a service or network does
 */
export async function askService(
  client: Pick<Client, "createEventAnchors">,
  events: readonly WaitingEvent[],
  signer: Signer | undefined,
  signal: AbortSignal,
): Promise<readonly ServiceOutcome[]> {
  const outcomes = new Map<WaitingEvent, ServiceOutcome>();
  const asked: EventToAskFor[] = [];
  for (const event of events) {
    try {
      asked.push([event, requestOf(event, signer)]);
    } catch (error) {
      // Nobody can ask for it here. The others do not wait for it.
      outcomes.set(event, again(error instanceof Error ? error : new Error("no request", { cause: error })));
    }
  }
  const send: SendBatch = (requests) => client.createEventAnchors(requests, { sharedReceipts: true, signal });
  const answers = asked.length === 0 ? [] : await ask(send, asked);
  for (const [at, [event]] of asked.entries()) outcomes.set(event, answers[at] ?? again(null));
  return events.map((event) => outcomes.get(event) ?? again(null));
}

type SendBatch = (requests: readonly EventToCreate[]) => ReturnType<Client["createEventAnchors"]>;

async function ask(send: SendBatch, asked: readonly EventToAskFor[]): Promise<readonly ServiceOutcome[]> {
  try {
    const { results } = await send(asked.map(([, request]) => request));
    return asked.map(([event], at) => {
      const item = results[at];
      return item === undefined ? again(null) : outcomeOf(item, event);
    });
  } catch (error) {
    if (!(error instanceof AnchoringError)) throw error;
    if (!isAboutSome(error)) return asked.map(() => ({ kind: "again", error, isForAll: true }));
    const [only] = asked;
    if (asked.length === 1 && only !== undefined) return [outcomeOfOnly(only[0], error)];
    const half = asked.length >> 1;
    const first = await ask(send, asked.slice(0, half));
    return [...first, ...(await ask(send, asked.slice(half)))];
  }
}

/** Whether fewer events might be taken. The client refuses a batch before it sends it, for a malformed event, say. */
function isAboutSome(error: AnchoringError): boolean {
  if (error instanceof ApiProblem) return ABOUT_SOME_EVENT.has(error.status) && !ABOUT_NO_EVENT.test(error.code);
  return error instanceof InvalidInput;
}

/** What the service refuses is refused; what the client refuses may be a matter of how it was opened. */
function outcomeOfOnly({ handle }: WaitingEvent, error: AnchoringError): ServiceOutcome {
  if (!(error instanceof ApiProblem)) return again(error);
  const { code, message, status } = error;
  return { kind: "refused", error: new EventRefused(code, message, handle.clientEventId, status) };
}

/** Whether its request carries a signature: of these a batch takes fewer. */
export function isSigned({ fields }: WaitingEvent): boolean {
  return fields !== null && fields.includes('"actor_public_key"');
}

/** What `requestOf` reads, of the body of a request: canonical JSON without what is empty; null: nothing. */
export function fieldsOf({ actor_public_key, semantic_anchor }: JsonBody): string | null {
  const refs = Object.entries((semantic_anchor ?? {}) as Readonly<Record<string, unknown>>)
    .filter(([, value]) => typeof value === "string")
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const fields = {
    ...(typeof actor_public_key === "string" ? { actor_public_key } : {}),
    ...(refs.length === 0 ? {} : { semantic_anchor: Object.fromEntries(refs) }),
  };
  return Object.keys(fields).length === 0 ? null : JSON.stringify(fields);
}
