import { bytesToHex, parseCheckpoint, parseNote } from "@event-anchoring/protocol";
import { type AnchoredRecord, type Recorder, type SeenHead, receiptJson } from "./recorder.ts";

/** What must hold for everything that was answered, by any node. Each line is a broken promise. */
export function brokenPromises(recorder: Recorder): readonly string[] {
  return [
    ...recorder.contradictions,
    ...oneRootForOneSize(recorder),
    ...latestAnchorNeverGoesBack(recorder.heads),
    ...latestAnchorCoversWhatWasAcknowledged(recorder.heads, recorder.anchored),
    ...onePlaceForOneRecord(recorder.anchored),
  ];
}

interface SaidRoot {
  readonly by: string;
  readonly key: string;
  readonly rootHash: string;
}

/** By cosignatures on the wire, latest anchors and receipts alike. */
function oneRootForOneSize(recorder: Recorder): readonly string[] {
  const said: SaidRoot[] = [
    ...recorder.cosignatures.map((seen) => rootOf(`cosigner ${seen.nodeId}`, seen)),
    ...recorder.heads.map((seen) => rootOf(`latest of ${seen.nodeId}`, seen)),
    ...recorder.anchored.flatMap(receiptRoot),
  ];
  const first = new Map<string, SaidRoot>();
  return said.flatMap((one) => {
    const before = first.get(one.key);
    if (before === undefined) first.set(one.key, one);
    if (before === undefined || before.rootHash === one.rootHash) return [];
    return [`${one.key}: ${before.rootHash} (${before.by}), ${one.rootHash} (${one.by})`];
  });
}

function rootOf(by: string, seen: Pick<SeenHead, "originFingerprint" | "treeSize" | "rootHash">): SaidRoot {
  return { by, key: `${seen.originFingerprint} size ${seen.treeSize}`, rootHash: seen.rootHash };
}

function receiptRoot(record: AnchoredRecord): readonly SaidRoot[] {
  const { anchorId, originFingerprint } = record;
  const receipt = receiptJson(record);
  if (typeof receipt !== "object" || receipt === null || !("checkpoint" in receipt)) return [];
  const { treeSize, rootHash } = parseCheckpoint(parseNote(String(receipt.checkpoint)).text);
  const key = `${originFingerprint} size ${treeSize}`;
  return [{ by: `receipt of ${anchorId}`, key, rootHash: bytesToHex(rootHash) }];
}

/** A read that began after another one's end shows no smaller tree of the same origin, on whatever nodes. */
function latestAnchorNeverGoesBack(heads: readonly SeenHead[]): readonly string[] {
  return staleReads(
    heads,
    heads.map(({ originFingerprint, treeSize, endedMs, nodeId }) => {
      return { originFingerprint, size: treeSize, fromMs: endedMs, why: `read at ${nodeId} before` };
    }),
  );
}

/** An anchor that was acknowledged before a read began is in the tree that the read shows. */
function latestAnchorCoversWhatWasAcknowledged(
  heads: readonly SeenHead[],
  anchored: readonly AnchoredRecord[],
): readonly string[] {
  return staleReads(
    heads,
    anchored.map(({ originFingerprint, depth, endedMs, anchorId }) => {
      return { originFingerprint, size: depth + 1, fromMs: endedMs, why: `acknowledged: ${anchorId}` };
    }),
  );
}

interface Floor {
  readonly originFingerprint: string;
  /** The least size a read may show that begins after `fromMs`. */
  readonly size: number;
  readonly fromMs: number;
  readonly why: string;
}

function staleReads(heads: readonly SeenHead[], floors: readonly Floor[]): readonly string[] {
  const byStart = heads.toSorted((a, b) => a.startedMs - b.startedMs);
  const byTime = floors.toSorted((a, b) => a.fromMs - b.fromMs);
  const highest = new Map<string, Floor>();
  let next = 0;
  return byStart.flatMap(({ nodeId, originFingerprint, treeSize, startedMs }) => {
    for (let floor = byTime[next]; floor !== undefined && floor.fromMs < startedMs; floor = byTime[++next]) {
      const before = highest.get(floor.originFingerprint);
      if (before === undefined || before.size < floor.size) highest.set(floor.originFingerprint, floor);
    }
    const floor = highest.get(originFingerprint);
    if (floor === undefined || treeSize >= floor.size) return [];
    return [`${originFingerprint} at ${nodeId}: size ${treeSize}, ${floor.size} was ${floor.why}`];
  });
}

/** No two records share an id, a sequence or a place in an origin, and none was acknowledged in two places. */
function onePlaceForOneRecord(anchored: readonly AnchoredRecord[]): readonly string[] {
  const taken = new Map<string, string>();
  const places = (record: AnchoredRecord): readonly (readonly [string, string])[] => {
    const { kind, content, anchorId, sequence, depth, originFingerprint } = record;
    return [
      [`content ${kind} ${content}`, anchorId],
      [`anchor ${anchorId}`, `${kind} ${content}`],
      [`sequence ${sequence}`, anchorId],
      [`place ${originFingerprint} ${depth}`, anchorId],
    ];
  };
  return anchored.flatMap((record) =>
    places(record).flatMap(([place, holder]) => {
      const before = taken.get(place);
      taken.set(place, holder);
      return before === undefined || before === holder ? [] : [`${place}: ${before}, and ${holder}`];
    }),
  );
}
