/** How one line of a verdict is marked; nothing of it needs colour to be read. */
export type Mark = "pass" | "fail" | "skip" | "warn";

/** One line of a verdict. */
export interface ShownStep {
  readonly mark: Mark;
  /** Empty: it continues the line before. */
  readonly label: string;
  readonly detail: string;
}
