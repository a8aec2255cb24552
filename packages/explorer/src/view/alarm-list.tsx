import { isoMs } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { evidenceFile } from "../browse/alarms.ts";
import type { Alarms, RaisedAlarm } from "../browse/alarms.ts";
import { MarkSign } from "./mark-sign.tsx";

/** Hands a text to the reader as a file, without asking anybody for it. */
function save({ name, text }: { readonly name: string; readonly text: string }): void {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function summaryOf({ originFingerprint, evidence }: RaisedAlarm): string {
  const [one, both] = originFingerprint === null ? ["The trust root", "Both trust roots"] : ["The head", "Both heads"];
  return evidence.length === 2 ? `${both}: what was seen before, and what is shown now` : one;
}

function AlarmItem({ alarm }: { readonly alarm: RaisedAlarm }): JSX.Element {
  const { code, title, detail, originFingerprint, seenAtMs, evidence } = alarm;
  return (
    <li class="alarm" data-code={code}>
      <MarkSign mark="fail" />
      <div>
        <h3>{title}</h3>
        <p>
          {detail}. Seen at {isoMs(seenAtMs)}.
        </p>
        {originFingerprint !== null && <p class="hash">origin {originFingerprint}</p>}
        {evidence.length > 0 && (
          <>
            <details>
              <summary>{summaryOf(alarm)}</summary>
              {evidence.map((note, at) => (
                <pre key={`${at}`}>{note}</pre>
              ))}
            </details>
            <button type="button" onClick={() => save(evidenceFile(alarm))}>
              Keep the evidence
            </button>
          </>
        )}
      </div>
    </li>
  );
}

/** What the node has shown that cannot be true of one log. It is spoken at once. */
export function AlarmList({ alarms: { kept, further } }: { readonly alarms: Alarms }): JSX.Element {
  return (
    <div role="alert">
      {kept.length > 0 && (
        <section class="alarms" aria-labelledby="alarms">
          <h2 id="alarms">Alarm: do not trust this log until this is explained</h2>
          <ul>
            {kept.map((alarm, at) => (
              <AlarmItem key={at} alarm={alarm} />
            ))}
          </ul>
          {further > 0 && <p>{further} further alarms are not listed.</p>}
          <p class="quiet">
            Keep the evidence: it is gone when this page is closed. What the nodes have signed speaks against them, and
            anybody can check it, with Check or <code>anchorctl</code>.
          </p>
        </section>
      )}
    </div>
  );
}
