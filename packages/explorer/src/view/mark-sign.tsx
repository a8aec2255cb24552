import type { Mark } from "@event-anchoring/verdicts";
import type { JSX } from "preact";

const SIGNS: Readonly<Record<Mark, { readonly sign: string; readonly word: string }>> = {
  pass: { sign: "✓", word: "passed" },
  fail: { sign: "✗", word: "failed" },
  warn: { sign: "!", word: "attention" },
  skip: { sign: "–", word: "not shown as good" },
};

/** The sign that `anchorctl` prints, with its word for who cannot see it. */
export function MarkSign({ mark }: { readonly mark: Mark }): JSX.Element {
  const { sign, word } = SIGNS[mark];
  return (
    <span class={`sign is-${mark}`} role="img" aria-label={word}>
      {sign}
    </span>
  );
}

export function signOf(mark: Mark): string {
  return SIGNS[mark].sign;
}

export function wordOf(mark: Mark): string {
  return SIGNS[mark].word;
}
