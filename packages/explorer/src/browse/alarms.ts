/** What speaks against the node, in words, with the evidence. It stays until the page is closed. */
import type { Alarm, VerificationError } from "@event-anchoring/sdk";
import { isoMs } from "@event-anchoring/verdicts";

export interface RaisedAlarm {
  readonly code: string;
  /** What has happened, as a person says it. */
  readonly title: string;
  readonly detail: string;
  /** null: it is about the trust root. */
  readonly originFingerprint: string | null;
  readonly seenAtMs: number;
  /** Signed notes that contradict one another: the one that was seen before, and what is shown now. */
  readonly evidence: readonly string[];
}

/** All that was raised, the first ones kept. */
export interface Alarms {
  readonly kept: readonly RaisedAlarm[];
  /** Further ones, which only say that it goes on. */
  readonly further: number;
}

export const NO_ALARMS: Alarms = { kept: [], further: 0 };

/** A node that shows another head each time would fill the page. */
const ALARMS_KEPT_MAX = 20;

const TITLES: Readonly<Record<Alarm["code"], string>> = {
  rollback: "ROLLBACK: the log has become shorter than it was.",
  split_view: "SPLIT VIEW: two different trees of one size.",
  inconsistent: "NOT A CONTINUATION: what was seen before is not shown to be the beginning of this log.",
  checkpoint_invalid: "NOT SIGNED: the head is not one that a quorum has signed.",
  trust_root_rollback: "ROLLBACK of the trust root: an older one than was seen.",
  trust_root_fork: "SPLIT VIEW of the trust root: another one than was seen.",
};

/** When it was seen, and the trust roots of before and of then. */
export interface Sighting {
  readonly seenAtMs: number;
  readonly trustRoots: readonly string[];
}

export function raisedBy(alarm: Alarm, { seenAtMs, trustRoots }: Sighting): RaisedAlarm {
  const { code, detail, originFingerprint } = alarm;
  const evidence = originFingerprint === null ? trustRoots : alarm.evidence;
  return { code, title: TITLES[code], detail, originFingerprint, seenAtMs, evidence };
}

/** Trust roots that no longer hold, after others that did. */
export function trustRootLost({ code, message }: VerificationError, sighting: Sighting): RaisedAlarm {
  const title = "ANOTHER TRUST ROOT: what the node shows does not go with what it showed before.";
  const { seenAtMs, trustRoots } = sighting;
  return { code, title, detail: `${message} (${code})`, originFingerprint: null, seenAtMs, evidence: trustRoots };
}

function nameOf({ code, originFingerprint, detail, evidence }: RaisedAlarm): string {
  return JSON.stringify([code, originFingerprint, detail, evidence]);
}

export function withAlarms({ kept, further }: Alarms, raised: readonly RaisedAlarm[]): Alarms {
  const known = new Set(kept.map(nameOf));
  const fresh = raised.filter((alarm) => !known.has(nameOf(alarm)));
  const room = ALARMS_KEPT_MAX - kept.length;
  if (fresh.length === 0) return { kept, further };
  return { kept: [...kept, ...fresh.slice(0, room)], further: further + Math.max(0, fresh.length - room) };
}

/** As `anchorctl monitor` writes it: one signed note after the other, as they came. */
export function evidenceFile({ code, originFingerprint, seenAtMs, evidence }: RaisedAlarm): {
  readonly name: string;
  readonly text: string;
} {
  const origin = originFingerprint === null ? "trust-root" : originFingerprint.slice(0, 12);
  const time = isoMs(seenAtMs).replaceAll(/[-:]|\.\d+/gu, "");
  return { name: `${code}-${origin}-${time}.notes`, text: evidence.join("\n") };
}
