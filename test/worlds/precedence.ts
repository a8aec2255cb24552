/** Commands with many defects at once: the first one in the order of the checks gives the answer. */

export interface Defect<Options, Made> {
  /** The rejection that it leads to. */
  readonly code: string;
  readonly pointer?: string;
  /** What it makes of the command before everybody signs, */
  readonly options?: Partial<Options>;
  /** and after. */
  readonly spoil?: (made: Made) => Made;
}

export interface Row<Options, Made> {
  readonly code: string;
  readonly pointer: string | undefined;
  readonly options: Partial<Options>;
  readonly spoil: (made: Made) => Made;
}

/** Row i has the defects i to n. Where two of them touch the same field, the earlier one stands. */
export function rowsOf<Options, Made>(defects: readonly Defect<Options, Made>[]): [string, Row<Options, Made>][] {
  return defects.map(({ code, pointer }, position) => {
    const rest = defects.slice(position).reverse();
    const options: Partial<Options> = Object.assign({}, ...rest.map((defect) => defect.options ?? {}));
    const spoil = (made: Made): Made => rest.reduce((command, defect) => defect.spoil?.(command) ?? command, made);
    const name = `${position + 1}: ${code}${pointer === undefined ? "" : ` ${pointer}`}`;
    return [name, { code, pointer, options, spoil }];
  });
}

/** The same bytes with one bit of the last byte changed. */
export function flipped(bytes: Uint8Array): Uint8Array {
  const copy = bytes.slice();
  copy[copy.length - 1] = (copy.at(-1) ?? 0) ^ 1;
  return copy;
}
