import { isoMs, short } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import type { Head } from "../browse/heads.ts";
import type { Watched } from "../browse/watch.ts";
import { MarkSign } from "./mark-sign.tsx";

/** When the page has looked, and when it looks again. */
function timesText({ phase, refusal, pauseMs, lookedAtMs }: Watched): string {
  const last =
    lookedAtMs === null ? "Nothing was seen yet" : `Last good look at ${isoMs(lookedAtMs).slice(11, 19)} UTC`;
  if (phase === "hidden") return `${last}. Nothing is asked while nobody sees this page.`;
  if (refusal !== null) return `${last}; the next try is in ${Math.ceil(pauseMs / 1000)} s.`;
  return lookedAtMs === null ? "Looking …" : `${last}, and every ${pauseMs / 1000} s while this page is seen.`;
}

function HeadItem({ head }: { readonly head: Head }): JSX.Element {
  const { originFingerprint, nodeId, mark, treeSize, firstSize, rootHash, text, cosigners, witnesses } = head;
  const growth = treeSize === null || firstSize === null ? 0 : treeSize - firstSize;
  return (
    <li class="head" data-mark={mark} data-origin={originFingerprint}>
      <MarkSign mark={mark} />
      <div>
        <h3>
          {nodeId === null ? "origin" : `origin of ${nodeId}`} <span class="hash">{short(originFingerprint)}</span>
        </h3>
        {treeSize !== null && (
          <p class="size">
            <b>{treeSize}</b> {treeSize === 1 ? "leaf" : "leaves"}
            {growth > 0 && <span class="quiet"> {growth} more than when this page saw it first</span>}
          </p>
        )}
        <p class="quiet">{text}</p>
        <details>
          <summary>{treeSize === null ? "Its fingerprint" : "Root and signatures"}</summary>
          <dl>
            <dt>origin</dt>
            <dd class="hash">{originFingerprint}</dd>
            {rootHash !== null && (
              <>
                <dt>root hash</dt>
                <dd class="hash">{rootHash}</dd>
              </>
            )}
            {cosigners.map((cosigner) => [
              <dt key={`${cosigner} label`}>signed by</dt>,
              <dd key={cosigner}>{cosigner}</dd>,
            ])}
            {witnesses.map((witness) => [
              <dt key={`${witness} label`}>witnessed by</dt>,
              <dd key={witness}>{witness}</dd>,
            ])}
          </dl>
        </details>
      </div>
    </li>
  );
}

export function HeadsList({ watched }: { readonly watched: Watched }): JSX.Element {
  const { heads, judgedBy, refusal } = watched;
  return (
    <section aria-labelledby="heads">
      <h2 id="heads">Heads of all origins</h2>
      <p class="times quiet">{timesText(watched)}</p>
      <p class={judgedBy === null ? "is-fail-text" : "is-warn-text"} role="status">
        {refusal}
      </p>
      {judgedBy !== null && judgedBy.pin === null && (
        <p class="is-warn-text">
          No pin: the heads go together with keys that the node itself has named, which proves nothing yet.
        </p>
      )}
      <ul class="heads">
        {heads.map((head) => (
          <HeadItem key={head.originFingerprint} head={head} />
        ))}
      </ul>
    </section>
  );
}
