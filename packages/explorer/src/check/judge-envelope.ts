/** What a file says as an envelope, and whether the files that were given are what it names. */
import type { Envelope } from "@event-anchoring/bundle";
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import { contentDiffersText, envelopeSteps } from "@event-anchoring/verdicts";
import type { HeldFile } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";
import type { Judged } from "./judged.ts";

type GivenFile = GivenOf<"file">;
type Named = Pick<Envelope["attachments"][number], "name" | "size" | "hash">;

function isIts(file: GivenFile, { size, hash }: Named): boolean {
  return file.size === size && bytesToHex(file.hash) === hash;
}

/** What the envelope of a file names: the content, if it lies elsewhere, and the attachments. */
function namedBy({ name, said }: GivenFile): {
  readonly content: Named | null;
  readonly attachments: readonly Named[];
} {
  const { content, attachments } = said?.envelope ?? { content: { json: null }, attachments: [] };
  return {
    content: "json" in content ? null : { name: name.replace(/\.json$/u, ".content"), ...content },
    attachments,
  };
}

/**
 * The file that is what an envelope names; else the one of its name, which is something else. One that another envelope
 * names is no such file: attachments of many envelopes may have one name.
 */
function heldOf(named: Named, files: readonly GivenFile[]): HeldFile | null {
  const own = files.find((file) => isIts(file, named));
  if (own !== undefined) return { name: own.name, isIts: true };
  const isNamed = (file: GivenFile): boolean =>
    files
      .map(namedBy)
      .some(({ content, attachments }) => [content, ...attachments].some((it) => it && isIts(file, it)));
  const other = files.find((file) => file.name === named.name && !isNamed(file));
  return other === undefined ? null : { name: other.name, isIts: false };
}

/** The verdict on an event, with what its file says if that is an envelope, which proves nothing. */
export function withEnvelope(judged: Judged, files: readonly GivenFile[]): Judged {
  const leaf = judged.leaf ?? judged.bundle?.verification.leaf;
  const isEvent = leaf?.kind === LEAF_KIND.event || leaf?.kind === LEAF_KIND.signedEvent;
  const file = isEvent ? files.find(({ hash }) => equalBytes(hash, leaf.eventHash)) : undefined;
  if (judged.mark === "fail" || file === undefined || file.said === null) return judged;
  const { content, attachments } = namedBy(file);
  const held = {
    content: content && heldOf(content, files),
    attachments: attachments.map((named) => heldOf(named, files)),
  };
  const foreign = contentDiffersText(held);
  // Without a pin nothing is shown as good.
  const markOf = (mark: Judged["mark"]): Judged["mark"] =>
    mark === "pass" ? (judged.mark === mark ? mark : "skip") : mark;
  const steps = envelopeSteps(file.said, held).map((step) => ({ ...step, mark: markOf(step.mark) }));
  const differs = foreign === null ? {} : { mark: "fail" as const, text: foreign };
  return { ...judged, ...differs, steps: [...judged.steps, ...steps] };
}
