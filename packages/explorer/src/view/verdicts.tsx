import type { Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { judgeAll } from "../check/judge.ts";
import type { Verdict } from "../check/judge.ts";
import { parsePin } from "../check/trust.ts";
import type { Pin } from "../check/trust.ts";
import { itemOf, readAsFile, withReceipts } from "../given/given-items.ts";
import type { GivenItem, Offered } from "../given/given-items.ts";
import type { Given } from "../given/given.ts";
import { VerdictCard } from "./verdict-card.tsx";

/** The things that were given; one that comes again under its name takes the place of the first. */
export function useGiven() {
  const [items, setItems] = useState<readonly GivenItem[]>([]);
  const nextId = useRef(0);
  return {
    items,
    add: (offered: readonly Offered[]): void => {
      const added = offered.map(({ name, bytes }) => {
        const id = nextId.current++;
        return itemOf({ name: name ?? `pasted text ${id + 1}`, bytes }, id);
      });
      const names = new Set(added.map(({ name }) => name));
      setItems((before) => withReceipts([...before.filter(({ name }) => !names.has(name)), ...added]));
    },
    remove: (id: number): void => setItems((before) => withReceipts(before.filter((item) => item.id !== id))),
    setIsFile: (id: number, isFile: boolean): void =>
      setItems((before) => withReceipts(before.map((item) => (item.id === id ? readAsFile(item, isFile) : item)))),
  };
}

function hashOf(pin: Pin): Uint8Array | null {
  return pin.state === "given" ? pin.rootThk : null;
}

/** What is typed to be compared with: nothing, or 64 hex digits. */
export function isReadable(text: string): boolean {
  return parsePin(text).state !== "malformed";
}

interface Question {
  readonly given: readonly Given[];
  readonly pin: Pin;
  readonly anchorText: string;
  readonly hashText: string;
  readonly requireWitnessed: boolean;
}

/** Judged after what was typed is on the screen: the page stands still while a large bundle is judged. */
export function useVerdicts({
  given,
  pin,
  anchorText,
  hashText,
  requireWitnessed,
}: Question): readonly Verdict[] | null {
  const [verdicts, setVerdicts] = useState<readonly Verdict[] | null>([]);
  const pinned = pin.state === "given" ? pin.rootThk.join() : "";
  useEffect(() => {
    setVerdicts(null);
    // Something to compare with that cannot be read must not be passed over.
    if (!isReadable(anchorText) || !isReadable(hashText)) return undefined;
    const expected = {
      anchorId: hashOf(parsePin(anchorText)),
      eventHash: hashOf(parsePin(hashText)),
      requireWitnessed,
    };
    const timer = setTimeout(() => setVerdicts(judgeAll(given, pin, expected)), 0);
    return () => clearTimeout(timer);
  }, [given, pinned, anchorText, hashText, requireWitnessed]);
  return verdicts;
}

const UNREADABLE = "What you have typed to compare with is not 64 hex digits, so nothing is judged.";

function spokenVerdict(verdicts: readonly Verdict[] | null, isAnswerable: boolean): string {
  if (!isAnswerable) return UNREADABLE;
  if (verdicts === null) return "Checking";
  return verdicts.map(({ name, text }) => `${name}: ${text}`).join(" ");
}

interface VerdictsProps {
  readonly items: readonly GivenItem[];
  readonly verdicts: readonly Verdict[] | null;
  readonly isAnswerable: boolean;
  readonly names: Names;
  /** The files that the names are from; empty: there are no names. */
  readonly namesFrom: string;
}

export function Verdicts({ items, verdicts, isAnswerable, names, namesFrom }: VerdictsProps): JSX.Element {
  return (
    <section class="verdicts" aria-labelledby="verdicts">
      <h2 id="verdicts">Verdict</h2>
      <p class="unseen" role="status" aria-live="polite">
        {spokenVerdict(verdicts, isAnswerable)}
      </p>
      {!isAnswerable && <p class="empty is-fail">{UNREADABLE}</p>}
      {verdicts === null && isAnswerable && <p class="quiet">Checking …</p>}
      {verdicts?.length === 0 && <p class="empty">Nothing to judge yet.</p>}
      {verdicts?.map((judged) => (
        <VerdictCard
          key={items.find(({ given }) => given === judged.given)?.id ?? judged.kind}
          judged={judged}
          names={names}
          namesFrom={namesFrom}
        />
      ))}
    </section>
  );
}
