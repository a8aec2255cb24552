import type { JudgedBy, Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { ProvedAnchor } from "../browse/prove-anchor.ts";
import { parsePin } from "../check/trust.ts";
import { VerdictCard } from "./verdict-card.tsx";

interface ProvedProps {
  readonly proved: ProvedAnchor;
  /** null: by nothing yet. */
  readonly judgedBy: JudgedBy | null;
  readonly names: Names;
  readonly namesFrom: string;
}

/** An anchor with the verdict on its receipt, judged here. */
export function Proved({ proved, judgedBy, names, namesFrom }: ProvedProps): JSX.Element {
  const judged = useMemo(
    () => (proved.refusal === null && judgedBy !== null ? proved.judge(judgedBy) : null),
    [proved, judgedBy],
  );
  if (proved.refusal !== null) return <p class="empty is-fail">{proved.refusal}</p>;
  if (judged === null) return <p class="empty">No verdict: there is no trust root to judge it by.</p>;
  return <VerdictCard judged={judged} names={names} namesFrom={namesFrom} />;
}

interface HexFormProps {
  readonly id: string;
  readonly label: string;
  readonly action: string;
  readonly onAsk: (hex: string) => void;
}

/** A field for 64 hex digits, and what to do with them. */
export function HexForm({ id, label, action, onAsk }: HexFormProps): JSX.Element {
  const [text, setText] = useState("");
  const [isBad, setIsBad] = useState(false);
  const ask = (): void => {
    const isGood = parsePin(text).state === "given";
    setIsBad(!isGood);
    if (isGood) onAsk(text.replaceAll(/\s/gu, "").toLowerCase());
  };
  return (
    <>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={text}
        aria-invalid={isBad}
        aria-describedby={`${id}-state`}
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") ask();
        }}
      />
      <p id={`${id}-state`} class="is-fail-text" role="status">
        {isBad ? "That is not 64 hex digits." : ""}
      </p>
      <button type="button" onClick={ask}>
        {action}
      </button>
    </>
  );
}
