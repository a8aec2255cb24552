/**
 * Running hashes over data that neither leaves nor a tree prove: each covers everything before it, so that a part can
 * be checked from any point on. docs/PROTOCOL.md, "State head".
 */
import { ByteWriter, asciiToBytes, sha256Of, tag, writeU64 } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import type { GroupId } from "../entry/command.ts";
import type { ClientEventWrite } from "./decision.ts";
import { writeGroupId } from "../entry/entry-codec.ts";

/** The bytes of clientEventLookup that index a client event, and stay when its id is erased. */
export const CLIENT_EVENT_PREFIX_BYTES = 8;

/** The look-up key of a client event id: SHA-256(API client id ‖ id). */
export function clientEventLookup(apiClientId: Uint8Array, clientEventId: string, sha256: Sha256): Uint8Array {
  return sha256Of([apiClientId, asciiToBytes(clientEventId)], sha256);
}

/** The running hash after the client events of one entry. */
export function clientEventsHashAfter(
  before: Uint8Array,
  events: readonly ClientEventWrite[],
  sha256: Sha256,
): Uint8Array {
  let hash = before;
  for (const { sequence, apiClientId, clientEventId } of events) {
    const prefix = clientEventLookup(apiClientId, clientEventId, sha256).subarray(0, CLIENT_EVENT_PREFIX_BYTES);
    hash = nextClientEventsHash(hash, { sequence, apiClientId, prefix }, sha256);
  }
  return hash;
}

/** An event with a client event id; the fields that remain when the id is erased. */
export interface ClientEventMark {
  readonly sequence: number;
  /** 16 bytes. */
  readonly apiClientId: Uint8Array;
  /** The first 8 bytes of clientEventLookup. */
  readonly prefix: Uint8Array;
}

/** Reused for every event. */
const SEQUENCE = new Uint8Array(8);

/** H(tag "client-events" ‖ before ‖ sequence u64 ‖ API client id 16 ‖ prefix 8). Events come in order of sequence. */
export function nextClientEventsHash(before: Uint8Array, event: ClientEventMark, sha256: Sha256): Uint8Array {
  const { sequence, apiClientId, prefix } = event;
  if (before.length !== 32 || apiClientId.length !== 16 || prefix.length !== CLIENT_EVENT_PREFIX_BYTES)
    throw new RangeError("a client event has 32, 16 and 8 bytes");
  writeU64(SEQUENCE, 0, sequence);
  return sha256Of([tag("client-events"), before, SEQUENCE, apiClientId, prefix], sha256);
}

/** H(tag "group-ids" ‖ before ‖ raft index u64 ‖ the ids, 24 bytes each): once for each entry that decided groups. */
export function nextGroupIdsHash(
  before: Uint8Array,
  entry: { readonly index: number; readonly groupIds: readonly GroupId[] },
  sha256: Sha256,
): Uint8Array {
  const { index, groupIds } = entry;
  if (groupIds.length === 0) return before;
  const header = tag("group-ids");
  const writer = new ByteWriter(header.length + 40 + groupIds.length * 24).bytes(header).bytes(before, 32).u64(index);
  for (const id of groupIds) writeGroupId(writer, id);
  return sha256(writer.finish());
}
