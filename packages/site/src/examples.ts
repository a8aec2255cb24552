import { textOf } from "./checkout.ts";

/** The lines of an SDK that the start page shows. */
export interface Example {
  /** The title above them. */
  readonly language: string;
  /** For highlighting. */
  readonly code: string;
  /** Document that they are taken from; its first example has them in one piece. */
  readonly source: string;
  /** How the first line and the last one begin. */
  readonly from: string;
  readonly to: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    language: "TypeScript",
    code: "js",
    source: "packages/sdk-typescript/README.md",
    from: "const client =",
    to: "const { anchorId, cosigners } =",
  },
  {
    language: "Python",
    code: "python",
    source: "packages/sdk-python/README.md",
    from: "with Client(",
    to: "verify_receipt(",
  },
  {
    language: "Rust",
    code: "rust",
    source: "packages/sdk-rust/README.md",
    from: "let event_hash =",
    to: "verify_receipt(",
  },
];

/**
 * The lines of an example, from the section "A first anchor" of its document.
 * @throws Error if the section has no such lines
 */
export function linesOf({ source, from, to }: Example): readonly string[] {
  const section = textOf(source).split("\n## A first anchor\n")[1] ?? "";
  const lines = (/^```[^\n]*\n([^]*?)^```/mu.exec(section)?.[1] ?? "").split("\n");
  const first = lines.findIndex((line) => line.startsWith(from));
  const last = lines.findIndex((line) => line.startsWith(to));
  if (first < 0 || last < first) throw new Error(`${source} has no example from "${from}" to "${to}"`);
  return lines.slice(first, last + 1);
}
