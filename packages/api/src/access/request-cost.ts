/** The work of a handler for a request, beyond that of a small read. */
export interface Work {
  /** Items of a batch, written or verified. */
  readonly items?: number;
  /** Items of a page of a list. */
  readonly listed?: number;
  /** Hops of a delegation that are judged, shown or not. */
  readonly hops?: number;
  /** Signatures of parties: every node verifies them. */
  readonly signatures?: number;
  readonly bodyBytes?: number;
  readonly answerBytes?: number;
}

/**
 * What a request costs its key, in tokens. One token is the work of the nodes for a small linearizable read: 1.85 ms of
 * processor time on 2 vCPU, of all processes that take part. The comment on each is its measured cost in microseconds:
 * docs/API.md, "Rates".
 */
const TOKENS = {
  /** 160 to verify one, 200 to write one. */
  item: 0.1,
  /** 30. */
  listed: 0.02,
  /** 155. */
  hop: 0.1,
  /** 840. */
  signature: 0.5,
};
/** A KiB of a body takes up to 40 to be parsed, one of an answer 5 to be written. */
const BODY_BYTES_PER_TOKEN = 32 * 1024;
const ANSWER_BYTES_PER_TOKEN = 256 * 1024;

/** The cost beyond the one token that every request costs on arrival. */
export function costOf(work: Work): number {
  const { items = 0, listed = 0, hops = 0, signatures = 0, bodyBytes = 0, answerBytes = 0 } = work;
  const looked = items * TOKENS.item + listed * TOKENS.listed + hops * TOKENS.hop;
  const bytes = Math.floor(bodyBytes / BODY_BYTES_PER_TOKEN) + Math.floor(answerBytes / ANSWER_BYTES_PER_TOKEN);
  return looked + signatures * TOKENS.signature + bytes;
}
