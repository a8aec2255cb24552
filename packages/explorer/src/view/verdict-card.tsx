import type { Leaf } from "@event-anchoring/protocol";
import { shownVerdict } from "@event-anchoring/verdicts";
import type { Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { kindWord } from "../chain/chain-model.ts";
import { detailRows } from "../chain/record-details.ts";
import type { Judged, JudgedBundle } from "../check/judged.ts";
import { ChainView } from "./chain-view.tsx";
import { MarkSign } from "./mark-sign.tsx";

/** The verdict in capitals, and the rest of the sentence. */
const SENTENCE = /^([A-Z][A-Z ]*[A-Z])([^a-z]*?:?\s*)(.*)$/su;

function Sentence({ text }: { readonly text: string }): JSX.Element {
  const [, word = text, between = "", rest = ""] = SENTENCE.exec(text) ?? [];
  return (
    <p class="sentence">
      <strong>{word}</strong>
      <span class="unseen">{between}</span>
      <span>{rest}</span>
    </p>
  );
}

function Steps({ judged }: { readonly judged: Judged }): JSX.Element | null {
  if (judged.steps.length === 0) return null;
  return (
    <details class="steps" open>
      <summary>Every step</summary>
      <ol>
        {judged.steps.map(({ mark, label, detail }, at) => (
          <li key={at} class={label === "" ? "step is-more" : "step"}>
            <MarkSign mark={mark} />
            <span class="label">{label}</span>
            <span class="detail">{detail}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

/** A bundle may prove that an act was not authorised: that is said where the verdict is. */
function ActLine({ bundle: { verification, isPinned } }: { readonly bundle: JudgedBundle }): JSX.Element | null {
  const { trace, authorisedAtAction, actorProven } = verification;
  if (trace === null) return null;
  const { mark, text } = shownVerdict(authorisedAtAction, actorProven);
  const shown = mark === "pass" && !isPinned ? "skip" : mark;
  return (
    <p class="act-line">
      <MarkSign mark={shown} /> <b>The act, when it was done:</b> {text}
    </p>
  );
}

/** What was recorded, field by field: of a claim or a grant that is all there is to know. */
function LeafFields({ leaf, names }: { readonly leaf: Leaf; readonly names: Names }): JSX.Element {
  return (
    <details class="fields">
      <summary>The record: {kindWord(leaf.kind)}</summary>
      <dl>
        {detailRows(leaf).map(({ label, value }) => [
          <dt key={`${label} label`}>{label}</dt>,
          <dd key={label} class={/^[0-9a-f]{64}$/u.test(value) ? "hash" : ""}>
            {names.has(value) && <b>{names.get(value)} </b>}
            {value}
          </dd>,
        ])}
      </dl>
    </details>
  );
}

interface VerdictCardProps {
  readonly judged: Judged;
  readonly names: Names;
  /** The files that the names are from; empty: there are no names. */
  readonly namesFrom: string;
}

export function VerdictCard({ judged, names, namesFrom }: VerdictCardProps): JSX.Element {
  const { mark, kind, name, text, bundle, leaf } = judged;
  return (
    <article class="card" data-kind={kind} data-mark={mark}>
      <header class={`banner is-${mark}`}>
        <MarkSign mark={mark} />
        <div>
          <h3>
            {name} <span class="quiet">{kind}</span>
          </h3>
          <Sentence text={text} />
          {bundle !== null && <ActLine bundle={bundle} />}
        </div>
      </header>
      {bundle !== null && bundle.verification.trace !== null && (
        <ChainView bundle={bundle} names={names} namesFrom={namesFrom} />
      )}
      <Steps judged={judged} />
      {leaf !== null && <LeafFields leaf={leaf} names={names} />}
    </article>
  );
}
