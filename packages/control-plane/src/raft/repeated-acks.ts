import type { MessageHeader, RaftId } from "raft-ts";

/** What a leader learns from an acknowledgement. */
type Ack = Pick<MessageHeader, "term" | "index">;

/**
 * Finds acknowledgements that tell a leader nothing. A follower answers every append, also one that only raises the
 * commit index; then its answer is the one it has given to the entries: two of 14 frames of an entry.
 *
 * A leader that lost an answer, or probes after a broken connection, asks again after its next heartbeat. So a repeated
 * answer leaves if a heartbeat or entries have come since the last one, or the connection is new.
 */
export class RepeatedAcks {
  readonly #last = new Map<RaftId, Ack>();

  /** A message of that peer arrived. */
  onHeard({
    type,
    from,
    entries,
  }: Pick<MessageHeader, "type" | "from"> & { readonly entries: readonly unknown[] }): void {
    if (type === "MsgHeartbeat" || entries.length > 0) this.#last.delete(from);
  }

  /** Whether the message is an acknowledgement that the peer has already. */
  isRepeated({ type, to, reject, term, index }: MessageHeader): boolean {
    if (type !== "MsgAppResp" || reject) return false;
    const last = this.#last.get(to);
    return last !== undefined && last.term === term && last.index === index;
  }

  /** The message is on its way. */
  onSent({ type, to, reject, term, index }: MessageHeader): void {
    if (type !== "MsgAppResp") return;
    if (reject) this.#last.delete(to);
    else this.#last.set(to, { term, index });
  }

  /** The connection to the peer has begun or ended: what was sent may not have arrived. */
  forget(peer: RaftId): void {
    this.#last.delete(peer);
  }
}
