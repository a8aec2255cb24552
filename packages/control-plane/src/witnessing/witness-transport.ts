/** One POST to a witness. */
export interface WitnessRequest {
  readonly url: string;
  readonly body: string;
  /** A longer answer is an error. */
  readonly answerBytesMax: number;
  /** Aborted when the time is over, or nobody wants the answer any more. */
  readonly signal: AbortSignal;
}

/** The whole answer, which may be attacker-controlled. */
export interface WitnessAnswer {
  readonly status: number;
  /** "": none was named. */
  readonly contentType: string;
  readonly body: Uint8Array;
}

/** Rejects if there is no whole answer: no connection, a certificate that does not verify, a body that is too long. */
export type WitnessTransport = (request: WitnessRequest) => Promise<WitnessAnswer>;
