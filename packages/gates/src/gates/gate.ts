/** What a batch came to, beside its count: figures by name, which add up over batches. */
export type Figures = Readonly<Record<string, number>>;

export interface Failure {
  /** What makes it happen again: a seed, or what was injected. */
  readonly seed: string;
  /** The sentence that is broken, and how. */
  readonly what: string;
}

/** A part of a gate's work that runs now. What it has noted counts, also if it is cut off. */
export interface Batch {
  /** The first seed that no earlier batch on this code has used. */
  readonly from: number;
  /** How many run at the same time. */
  readonly jobs: number;
  /** Whether nothing new may begin: its time is over, or somebody has ended the run. */
  readonly isOver: () => boolean;
  /** How much time the batch has from its beginning on, in milliseconds, unless somebody ends the run. */
  readonly forMs: number;
  /** So many more are done, the last of which had this seed. */
  readonly note: (count: number, seed: number, figures?: Figures) => void;
  readonly fail: (failure: Failure) => void;
  /** A line for the person who watches. */
  readonly say: (line: string) => void;
}

/** One kind of proof. */
export interface Gate {
  readonly name: string;
  /** What is counted, in the plural. */
  readonly counts: string;
  /** What would be a failure. */
  readonly fails: string;
  /** How many the code of a release has to reach. */
  readonly toReach: number;
  /** How many come first. */
  readonly firstStop: number;
  /** Folders and files whose code matters: a change there makes the count begin anew. */
  readonly sources: readonly string[];
  /** Why it cannot run on this machine; null: it can. */
  readonly missing: () => string | null;
  /** Figures that are not shown as sums, and what they are divided by: another figure, or null for the count. */
  readonly means?: Readonly<Record<string, string | null>>;
  /** Resolves when the batch is over. An error ends it, and is a failure. */
  readonly run: (batch: Batch) => Promise<void>;
}
