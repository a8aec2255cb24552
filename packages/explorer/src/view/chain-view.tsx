import type { BundleVerification } from "@event-anchoring/bundle";
import { bytesToHex } from "@event-anchoring/protocol";
import { actSteps, boundaryText, reasonText, short } from "@event-anchoring/verdicts";
import type { Names, ShownStep } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { leavesOf } from "../chain/bundle-leaves.ts";
import type { BundleLeafEntry } from "../chain/bundle-leaves.ts";
import { chainModelOf, kindWord } from "../chain/chain-model.ts";
import { drawingOf } from "../chain/layout.ts";
import { stopText, stopsOf } from "../chain/positions.ts";
import type { Stop } from "../chain/positions.ts";
import type { JudgedBundle } from "../check/judged.ts";
import { ChainDrawing } from "./chain-drawing.tsx";
import { MarkSign } from "./mark-sign.tsx";
import { RecordPanel } from "./record-panel.tsx";

interface SliderProps {
  readonly stops: readonly Stop[];
  readonly at: number;
  readonly onMove: (at: number) => void;
}

function PositionSlider({ stops, at, onMove }: SliderProps): JSX.Element | null {
  const stop = stops[at];
  if (stop === undefined || stops.length < 2) return null;
  return (
    <div class="slider">
      <label for="as-of">
        As of <b>{stop.label}</b> <span class="quiet">{stopText(stop)}</span>
      </label>
      <div class="slider-row">
        <button type="button" onClick={() => onMove(at - 1)} disabled={at === 0} aria-label="Earlier">
          ‹
        </button>
        <input
          id="as-of"
          type="range"
          min={0}
          max={stops.length - 1}
          step={1}
          value={at}
          aria-valuetext={`${stop.label}, ${stopText(stop)}`}
          onInput={(event) => onMove(Number(event.currentTarget.value))}
        />
        <button type="button" onClick={() => onMove(at + 1)} disabled={at === stops.length - 1} aria-label="Later">
          ›
        </button>
      </div>
    </div>
  );
}

/** The verdicts on the act as of the position, with their reasons. */
function Findings({ shown, isPinned, names }: FindingsProps): JSX.Element {
  const { trace } = shown;
  const reasons = (verdict: "at_action" | "now"): string[] =>
    (trace?.reasons ?? [])
      .filter((reason) => reason.verdict === verdict)
      .map(({ code, anchorId, sequence }) =>
        reasonText({ code, anchorId: anchorId === null ? null : bytesToHex(anchorId), sequence }, names),
      );
  const steps = actSteps(shown, { pin: isPinned ? {} : null });
  const rows: readonly (ShownStep & { readonly reasons: readonly string[] })[] = steps.map((step) => ({
    ...step,
    reasons: step.label === "at action" ? reasons("at_action") : step.label === "later" ? reasons("now") : [],
  }));
  const boundary = trace?.boundary ?? null;
  return (
    <ul class="findings" aria-live="polite">
      {rows.map(({ mark, label, detail, reasons: why }) => (
        <li key={label} class={`finding is-${mark}`}>
          <MarkSign mark={mark} />
          <span class="label">{label}</span>
          <span class="detail">
            {detail}
            {why.map((reason) => (
              <span key={reason} class="why">
                {reason}
              </span>
            ))}
          </span>
        </li>
      ))}
      {boundary !== null && (
        <li class="finding">
          <MarkSign mark="skip" />
          <span class="label">boundary</span>
          <span class="detail">{boundaryText({ ...boundary, scopeHash: bytesToHex(boundary.scopeHash) })}</span>
        </li>
      )}
      {trace?.isSuspect === true && (
        <li class="finding is-warn">
          <MarkSign mark="warn" />
          <span class="label">suspect</span>
          <span class="detail">a revocation says that acts of that time are suspect</span>
        </li>
      )}
    </ul>
  );
}

interface FindingsProps {
  readonly shown: BundleVerification;
  readonly isPinned: boolean;
  readonly names: Names;
}

const LISTED_MAX = 200;

interface RecordListProps {
  readonly leaves: ReadonlyMap<string, BundleLeafEntry>;
  readonly onOpen: (id: string) => void;
}

function RecordList({ leaves, onOpen }: RecordListProps): JSX.Element {
  const listed = [...leaves.values()].slice(0, LISTED_MAX);
  return (
    <details class="all-records">
      <summary>All {leaves.size} records of this bundle</summary>
      <ol>
        {listed.map(({ anchorId, leaf }) => (
          <li key={anchorId}>
            <button type="button" class="link" onClick={() => onOpen(anchorId)}>
              {short(anchorId)}
            </button>{" "}
            {kindWord(leaf.kind)}, sequence {leaf.sequence}
          </li>
        ))}
      </ol>
      {leaves.size > LISTED_MAX && <p class="quiet">The first {LISTED_MAX} are listed.</p>}
    </details>
  );
}

/** Whether there is no room for two boxes side by side. */
function useIsNarrow(): boolean {
  const query = useMemo(() => globalThis.matchMedia("(max-width: 46rem)"), []);
  const [isNarrow, setIsNarrow] = useState(query.matches);
  useEffect(() => {
    const look = (): void => setIsNarrow(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, [query]);
  return isNarrow;
}

interface ChainViewProps {
  readonly bundle: JudgedBundle;
  readonly names: Names;
  /** The files that the names are from; empty: there are no names. */
  readonly namesFrom: string;
}

/** Who acted, by whose delegation, and where that broke. */
export function ChainView({ bundle, names, namesFrom }: ChainViewProps): JSX.Element {
  const { verification, isPinned, given, judgeAt } = bundle;
  const leaves = useMemo(() => leavesOf(given.bundle), [given]);
  const stops = useMemo(() => stopsOf(verification, leaves), [verification, leaves]);
  const [moved, setMoved] = useState<number | null>(null);
  const [openId, setOpenId] = useState<string | null>(null);
  const at = Math.min(moved ?? stops.length - 1, stops.length - 1);
  const stop = stops[at];
  const isOwn = stop === undefined || at === stops.length - 1;
  const shown = useMemo(() => (isOwn ? verification : judgeAt(stop)), [verification, isOwn, stop]);
  const isNarrow = useIsNarrow();
  const drawing = useMemo(() => {
    const model = chainModelOf(shown, { names, isPinned, isNarrow });
    return model === null ? null : { ...drawingOf(model), omitted: model.omitted };
  }, [shown, names, isPinned, isNarrow]);
  const open = openId === null ? undefined : leaves.get(openId);
  return (
    <section class="chain" aria-label="Responsibility chain">
      <h4>Who acted, and by whose delegation</h4>
      <PositionSlider stops={stops} at={at} onMove={setMoved} />
      <Findings shown={shown} isPinned={isPinned} names={names} />
      {drawing === null && <p class="hint">The bundle cannot be judged as of this position.</p>}
      {drawing !== null && drawing.omitted > 0 && <p class="quiet">{drawing.omitted} grants are not drawn.</p>}
      {namesFrom !== "" && <p class="hint">The names are from {namesFrom} and are not proved.</p>}
      {drawing !== null && <ChainDrawing drawing={drawing} openId={openId} onOpen={setOpenId} />}
      {open !== undefined && (
        <RecordPanel
          entry={open}
          leaves={leaves}
          names={names}
          isPinned={isPinned}
          onOpen={setOpenId}
          onClose={() => setOpenId(null)}
        />
      )}
      <RecordList leaves={leaves} onOpen={setOpenId} />
    </section>
  );
}
