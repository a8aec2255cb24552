/** A position in the ledger: a sequence number, and the time that goes with it in Unix milliseconds. */
export interface AsOf {
  readonly sequence: number;
  readonly timeMs: number;
}
