/** From a batch of events to what the service says of each. */
import type { Anchor } from "../anchors.ts";
import type { BatchItem } from "../answers.ts";
import type { Client } from "../client.ts";
import { AnchoringError, ApiProblem, InvalidInput } from "../errors.ts";
import type { JsonBody } from "../json-body.ts";
import type { SemanticAnchorInput } from "../prepare-event.ts";
import type { Receipt } from "../receipt.ts";
import type { EventToCreate } from "../signed-requests.ts";
import type { Signer } from "../signing.ts";
import { fromWireNames } from "../wire-names.ts";
import { EventRefused } from "./errors.ts";
import type { WaitingEvent } from "./waiting-event.ts";

/** `again`: it stays in the spool; the error is what the client said, null if only the receipt is missing. */
export type ServiceOutcome =
  | { readonly kind: "anchored"; readonly anchor: Anchor; readonly receipt: Receipt }
  | { readonly kind: "refused"; readonly error: EventRefused }
  | { readonly kind: "again"; readonly error: Error | null };

/** Statuses that are about the event itself: it would be refused again. */
const ABOUT_THE_EVENT: ReadonlySet<number> = new Set([400, 404, 409, 410, 413, 422]);
/** Statuses of a whole batch for which some event in it may be the reason. */
const ABOUT_SOME_EVENT: ReadonlySet<number> = new Set([400, 413, 422]);

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
  if (signer === undefined) throw new InvalidInput("actorSigner", `expected that of ${actorPublicKey}`);
  return { ...said, actorPublicKey, actorSigner: signer };
}

function outcomeOf(item: BatchItem, event: WaitingEvent): ServiceOutcome {
  const { anchor, receipt, problem } = item;
  if (anchor !== null) return receipt === null ? { kind: "again", error: null } : { kind: "anchored", anchor, receipt };
  if (problem === null)
    return { kind: "again", error: new AnchoringError("answer_malformed", "neither anchor nor problem") };
  const { code, detail, status } = problem;
  // A closed or lost origin is not the event's fault: another one takes it.
  if (ABOUT_THE_EVENT.has(status) && !code.startsWith("origin_")) {
    return { kind: "refused", error: new EventRefused(code, detail, event.handle.clientEventId, status) };
  }
  return { kind: "again", error: new AnchoringError(code, detail) };
}

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
  try {
    const requests = events.map((event) => requestOf(event, signer));
    const { results } = await client.createEventAnchors(requests, { sharedReceipts: true, signal });
    return events.map((event, at) => {
      const item = results[at];
      return item === undefined ? { kind: "again", error: null } : outcomeOf(item, event);
    });
  } catch (error) {
    if (!(error instanceof AnchoringError)) throw error;
    const isForSome = error instanceof ApiProblem && ABOUT_SOME_EVENT.has(error.status);
    if (!isForSome) return events.map(() => ({ kind: "again", error }));
    const [only] = events;
    if (events.length === 1 && only !== undefined) {
      const { code, message, status } = error;
      return [{ kind: "refused", error: new EventRefused(code, message, only.handle.clientEventId, status) }];
    }
    const half = events.length >> 1;
    const first = await askService(client, events.slice(0, half), signer, signal);
    return [...first, ...(await askService(client, events.slice(half), signer, signal))];
  }
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
