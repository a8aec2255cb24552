/** The heads of all origins, as one look has shown them. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { MonitorLook } from "@event-anchoring/sdk";
import { isoSeconds } from "@event-anchoring/verdicts";
import type { JudgedBy, Mark } from "@event-anchoring/verdicts";
import type { Alarms } from "./alarms.ts";

export interface Head {
  readonly originFingerprint: string;
  /** Who writes to it, by the trust root; null: nobody. */
  readonly nodeId: string | null;
  readonly mark: Mark;
  /** null: nothing was anchored there yet. */
  readonly treeSize: number | null;
  readonly rootHash: string | null;
  /** Tree size when the page saw it first. */
  readonly firstSize: number | null;
  /** What was verified, or why it is not good. */
  readonly text: string;
  readonly cosigners: readonly string[];
  /** Likewise who is outside the cluster. */
  readonly witnesses: readonly string[];
}

type Known = MonitorLook["origins"][number];

/** Nothing is good without a pin, after an alarm, or by an older trust root alone. */
function markOf({ checkpoint }: Known, isPinned: boolean, isAlarmed: boolean): Mark {
  if (isAlarmed || checkpoint === null) return "fail";
  if (checkpoint.supersededTrustRoot !== null) return "warn";
  return isPinned ? "pass" : "skip";
}

function textOf({ checkpoint, previousTreeSize, treeSize }: Known, isPinned: boolean, isAlarmed: boolean): string {
  if (isAlarmed || checkpoint === null) return "alarm: see above. What is shown here is the last that was good";
  const whose = isPinned ? "" : ", by keys that nobody has pinned";
  const signed = `signed by ${checkpoint.cosigners.length} nodes, a quorum${whose}`;
  const old = checkpoint.supersededTrustRoot;
  const witnesses = checkpoint.witnesses.map(({ name }) => name).join(", ");
  const witnessed = checkpoint.witnessed ? `, witnessed by ${witnesses}` : "";
  const older = old === null ? "" : `; only trust root ${old} is satisfied, not the newest`;
  const warning = `${witnessed}${older}`;
  if (previousTreeSize === null) return `${signed}${warning}; the first that this page has seen`;
  if (previousTreeSize === treeSize) return `${signed}${warning}; the same as before`;
  return `${signed}${warning}; the ${previousTreeSize} leaves seen before are its beginning`;
}

/** A row for each origin of the newest trust root, by the names of those who write there. */
export function headsOf(
  { origins }: MonitorLook,
  { chain, pin }: JudgedBy,
  alarms: Alarms,
  before: readonly Head[],
): Head[] {
  const { trustRoot } = chain.newest;
  const heads = trustRoot.origins.map(({ originFingerprint: bytes, status }): Head => {
    const originFingerprint = bytesToHex(bytes);
    const node = trustRoot.nodes.find((each) => bytesToHex(each.originFingerprint) === originFingerprint);
    const base = { originFingerprint, nodeId: node?.nodeId ?? null };
    const known = origins.find((origin) => origin.originFingerprint === originFingerprint);
    if (known === undefined) {
      const text =
        status === "lost" ? "marked lost: nothing is ever written to it again" : "nothing is anchored here yet";
      return {
        ...base,
        mark: "skip",
        treeSize: null,
        rootHash: null,
        firstSize: null,
        text,
        cosigners: [],
        witnesses: [],
      };
    }
    const isAlarmed = alarms.kept.some((alarm) => alarm.originFingerprint === originFingerprint);
    const first = before.find((head) => head.originFingerprint === originFingerprint)?.firstSize ?? null;
    const { checkpoint, treeSize } = known;
    return {
      ...base,
      mark: markOf(known, pin !== null, isAlarmed),
      treeSize,
      rootHash: checkpoint?.rootHash ?? null,
      firstSize: first ?? treeSize,
      text: textOf(known, pin !== null, isAlarmed),
      cosigners: checkpoint?.cosigners.map(({ name, time }) => `${name} at ${isoSeconds(time)}`) ?? [],
      witnesses: checkpoint?.witnesses.map((each) => `${each.name} at ${isoSeconds(each.witnessedAt)}`) ?? [],
    };
  });
  return heads.toSorted((a, b) => ((a.nodeId ?? "~") < (b.nodeId ?? "~") ? -1 : 1));
}
