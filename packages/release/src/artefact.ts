import type { Part } from "./contents.ts";

/** What a maker is told. Nothing else may show in what it makes: no clock, no path, no name of the machine. */
export interface Target {
  /** Empty, and the maker's own. */
  readonly folder: string;
  /** The version of everything that is released together. */
  readonly version: string;
  /** Seconds; the time of every file inside an artefact: https://reproducible-builds.org/specs/source-date-epoch/ */
  readonly sourceDateEpoch: number;
  /** Takes what others have written and an artefact has in it, needs, or is built with; `file` may be a folder. */
  readonly hasParts: (file: string, parts: readonly Part[]) => void;
}

/** Makes one kind of artefact from the sources and the build of this checkout. */
export interface Maker {
  /** In lower case with hyphens, for `--only`. */
  readonly name: string;
  /** @returns why this machine cannot make it, so that it is left out; null: it can. Without this it never is. */
  lacks?(): string | null;
  /**
   * The same sources make the same bytes, wherever and whenever.
   * @returns the files made, from `folder`, with forward slashes
   * @throws ReleaseError that names a tool which is not on this machine
   */
  make(target: Target): Promise<readonly string[]>;
}

/** A release cannot be made; the message is a sentence for the person who asked for it. */
export class ReleaseError extends Error {
  override readonly name = "ReleaseError";
}
