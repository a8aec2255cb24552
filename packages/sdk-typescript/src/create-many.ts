/** Many events without a spool: in chunks, several at once, answered in their order. */
import type { Answered, BatchItem, CreatedBatch } from "./answers.ts";
import type { BatchOptions, WriteOptions } from "./client-options.ts";
import { AnchoringError, InvalidInput } from "./errors.ts";
import { count } from "./inputs.ts";
import { chosenClientEventId } from "./signed-requests.ts";
import type { EventToCreate } from "./signed-requests.ts";

export interface ManyOptions extends WriteOptions {
  /** Batches under way at once. Default: 2. */
  readonly concurrency?: number | undefined;
  /** Told after every batch how many events have been answered. */
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** As they come: nothing is taken before there is room for it in a batch. */
export type ManyEvents = Iterable<EventToCreate> | AsyncIterable<EventToCreate>;

/** What the service says of one event. */
export interface ManyItem extends BatchItem {
  readonly clientEventId: string;
}

/** Some were not answered. Those that were came before, in order. */
export class ManyInterrupted extends AnchoringError {
  /** Events that were taken and not answered, with their ids: give them to `createMany` again, and none is doubled. */
  readonly left: readonly EventToCreate[];
  /** Their ids. Whether they are recorded is not known. */
  readonly clientEventIds: readonly string[];

  constructor(left: readonly EventToCreate[], cause: unknown) {
    const told = cause instanceof Error ? cause.message : "failed";
    super("many_interrupted", `${left.length} events are not answered: ${told}`, { cause });
    this.left = left;
    this.clientEventIds = left.flatMap(({ clientEventId }) => clientEventId ?? []);
  }
}

/** Limits of a batch: events, and events that are signed. */
const EVENTS_MAX = 1_000;
const SIGNED_MAX = 256;

type Send = (events: readonly EventToCreate[], options: BatchOptions) => Promise<Answered<CreatedBatch>>;

interface Chunk {
  readonly events: readonly EventToCreate[];
  /** Never rejects: a failure waits until it is this chunk's turn. */
  readonly answer: Promise<CreatedBatch | { readonly failure: unknown }>;
}

/** Each event has its id before anything is sent. */
async function* chunksOf(events: ManyEvents): AsyncGenerator<EventToCreate[], undefined> {
  let chunk: EventToCreate[] = [];
  let signed = 0;
  for await (const event of events) {
    if (event.clientEventId === null) throw new InvalidInput("clientEventId", "many are not sent without ids");
    if (event.actorSigner !== undefined || event.actorSignature !== undefined) signed++;
    chunk.push({ ...event, clientEventId: chosenClientEventId(event.clientEventId) });
    if (chunk.length < EVENTS_MAX && signed < SIGNED_MAX) continue;
    yield chunk;
    [chunk, signed] = [[], 0];
  }
  if (chunk.length > 0) yield chunk;
}

/**
 * @param send `createEventAnchors` of a client
 * @throws ManyInterrupted
 */
export async function* createMany(
  send: Send,
  events: ManyEvents,
  { concurrency = 2, onProgress, ...options }: ManyOptions,
): AsyncGenerator<ManyItem> {
  const atOnce = Math.max(1, count("concurrency", concurrency));
  const underWay: Chunk[] = [];
  const chunks = chunksOf(events);
  let done = 0;
  for (let isEnd = false; ;) {
    while (!isEnd && underWay.length < atOnce) {
      const { value, done: isLast } = await chunks.next();
      isEnd = isLast === true;
      if (value === undefined) break;
      const answer = send(value, { ...options, sharedReceipts: true }).catch((failure: unknown) => ({ failure }));
      underWay.push({ events: value, answer });
    }
    const [first] = underWay;
    if (first === undefined) return;
    const answer = await first.answer;
    if ("failure" in answer) throw await interrupted(underWay, answer.failure);
    underWay.shift();
    done += first.events.length;
    onProgress?.(done);
    for (const [at, item] of answer.results.entries()) {
      yield { ...item, clientEventId: first.events[at]?.clientEventId ?? "" };
    }
  }
}

/** Nothing is under way any more when it is thrown. */
async function interrupted(underWay: readonly Chunk[], failure: unknown): Promise<ManyInterrupted> {
  await Promise.all(underWay.map(({ answer }) => answer));
  return new ManyInterrupted(
    underWay.flatMap(({ events }) => events),
    failure,
  );
}
