/** A position in the ledger: a sequence number, and its time in Unix milliseconds. */
export interface AsOf {
  readonly sequence: number;
  readonly timeMs: number;
}
