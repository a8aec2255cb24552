import { bytesToHex } from "@event-anchoring/protocol";
import { named, short } from "@event-anchoring/verdicts";
import type { Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { BundleLeafEntry } from "../chain/bundle-leaves.ts";
import { kindWord } from "../chain/chain-model.ts";
import { detailRows, termsOf } from "../chain/record-details.ts";

interface RecordPanelProps {
  readonly entry: BundleLeafEntry;
  readonly leaves: ReadonlyMap<string, BundleLeafEntry>;
  readonly names: Names;
  readonly isPinned: boolean;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

function ProofText({ entry: { proof, leaf }, isPinned }: Pick<RecordPanelProps, "entry" | "isPinned">): JSX.Element {
  const { way, hashes, from, treeSize, rootHash, origin } = proof;
  const led =
    way === "path"
      ? `${hashes.length} hashes lead from this leaf to the root`
      : `the leaves from depth ${from} on are all here, and make the root with ${hashes.length} hashes of those before`;
  return (
    <>
      <p>
        {way === "state"
          ? `This record has a value in the state after ${treeSize} leaves, which says when it ended.`
          : `Leaf ${leaf.depth} of a tree of ${treeSize} leaves: ${led}.`}{" "}
        {isPinned
          ? "A quorum of the nodes has signed that root."
          : "Without a pin nobody knows whose nodes have signed that root."}
      </p>
      <dl>
        <dt>tree of</dt>
        <dd class="hash">{origin}</dd>
        <dt>root hash</dt>
        <dd class="hash">{rootHash}</dd>
        {hashes.map((hash, at) => [
          <dt key={`${at} label`}>{way === "path" ? `hash ${at + 1}` : `before ${at + 1}`}</dt>,
          <dd key={hash} class="hash">
            {hash}
          </dd>,
        ])}
      </dl>
    </>
  );
}

/** One record with its leaf, its proof, and the words that explain it. */
export function RecordPanel({ entry, leaves, names, isPinned, onOpen, onClose }: RecordPanelProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  const { leaf, anchorId, bytes } = entry;
  useEffect(() => heading.current?.focus(), [anchorId]);
  const terms = new Set(termsOf(leaf.kind));
  return (
    <section class="record" aria-label={`Record ${short(anchorId)}`}>
      <header>
        <h4 ref={heading} tabIndex={-1}>
          {named(anchorId, names, kindWord(leaf.kind))}
        </h4>
        <button type="button" class="plain" onClick={onClose}>
          Close
        </button>
      </header>
      <dl>
        <dt>anchor id</dt>
        <dd class="hash">{anchorId}</dd>
        {detailRows(leaf).map(({ label, value, isAnchor }) => [
          <dt key={`${label} label`}>{label}</dt>,
          <dd key={label} class={/^[0-9a-f]{64}$/u.test(value) ? "hash" : ""}>
            {names.has(value) && <b>{names.get(value)} </b>}
            {isAnchor && leaves.has(value) ? (
              <button type="button" class="link" onClick={() => onOpen(value)}>
                {value}
              </button>
            ) : (
              value
            )}
          </dd>,
        ])}
      </dl>
      <details>
        <summary>Its proof</summary>
        <ProofText entry={entry} isPinned={isPinned} />
      </details>
      <details>
        <summary>Its leaf: {bytes.length} bytes</summary>
        <p class="hash">{bytesToHex(bytes)}</p>
      </details>
      <details>
        <summary>What the words mean</summary>
        <dl class="words">
          {GLOSSARY.filter(({ term }) => terms.has(term)).map(({ term, meaning }) => [
            <dt key={`${term} term`}>{term}</dt>,
            <dd key={term}>{meaning}</dd>,
          ])}
        </dl>
      </details>
    </section>
  );
}
