/** Fetches all that a trace needs: every record, proof, checkpoint and trust root. docs/PROTOCOL.md, "Bundle". */
import { BUNDLE_LIMITS, assembleBundle, completeUpTo, subtreesForPart } from "@event-anchoring/bundle";
import type { Bundle, BundleJson, OriginPart } from "@event-anchoring/bundle";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import { readers } from "@event-anchoring/sdk";
import type { Reader } from "@event-anchoring/sdk";
import type { WitnessDemand } from "../drafts/await-witnesses.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Progress } from "../terminal/progress.ts";
import { fetchTrustRoots } from "../service/service-trust-roots.ts";
import { expectStatus } from "../service/service.ts";
import type { Answer, Service } from "../service/service.ts";
import { askWholeTrace } from "../service/whole-trace.ts";
import { LogReader } from "./log-reader.ts";
import { readWanted } from "./read-wanted.ts";
import { atWitnessedHead } from "./witnessed-log.ts";

export interface CollectOptions {
  /** 64 hex digits. */
  readonly anchorId: string;
  /** Whether the leaves are left out that prove that nothing is missing: a small file, as stated by the service. */
  readonly isSmall: boolean;
  /** What is trusted already; the service's chain continues it. */
  readonly held: HeldTrustRoots;
  /** Null: the newest heads do, witnessed or not. */
  readonly demand: WitnessDemand | null;
}

const { count, hex32, listOf, optional, record } = readers;
const readPosition = record({ asOf: record({ sequence: count, timeMs: count }) });
const readHops = record({
  delegation: listOf(record({ grant: record({ parentGrantRef: optional(hex32) }) })),
  delegationOmitted: count,
});
const readPlace = record({ originFingerprint: hex32, depth: count });

/** A hop that the trace leaves out. */
interface Omitted {
  readonly parentGrantRef: string | null;
  readonly grantorClaimRef: string;
  readonly granteeClaimRef: string;
}

const readOmitted = record<Omitted>({
  parentGrantRef: optional(hex32),
  grantorClaimRef: hex32,
  granteeClaimRef: hex32,
});

/** What is fetched of one origin. */
interface Part {
  readonly reader: LogReader;
  readonly range: { readonly from: number; readonly leaves: readonly Uint8Array[] } | null;
  readonly singles: Map<number, Uint8Array>;
}

/** @throws CliError */
export async function collectBundle(options: CollectOptions, service: Service, progress: Progress): Promise<Bundle> {
  const { anchorId } = options;
  const held = options.held.chain;
  const first = await traceOf(service, anchorId, null);
  const wanted = first.read(readWanted);
  const ids = new Set([...wanted.anchorIds, ...(await omittedOf(service, first))]);
  for (const { entityFingerprint, attributeType } of wanted.pairs) {
    const newest = await newestClaimOf(service, entityFingerprint, attributeType);
    if (newest !== null) ids.add(newest);
  }
  const chain = await fetchTrustRoots(service, held);
  const origins = chain.newest.trustRoot.origins.map(({ originFingerprint }) => bytesToHex(originFingerprint));
  const parts = await partsOf(options, service, origins, wanted.after, progress);
  for (const id of ids) await addSingle(service, parts, id);
  const stated = await statedAt(service, anchorId, first, wanted.after, parts);
  const { asOf } = stated.read(readPosition);
  // One after the other: what fails leaves no question open that would be asked again and again.
  const originParts: OriginPart[] = [];
  for (const part of parts) originParts.push(await originPartOf(part));
  // Last, so that no version is missing that a leaf names.
  const { versions } = await fetchTrustRoots(service, held);
  return assembleBundle(
    {
      subject: toAnchorId(hexToBytes(anchorId, 32)),
      asOf,
      trustRoots: versions.map(({ note }) => note),
      origins: originParts,
      // It came out of JSON.parse.
      stated: stated.body as BundleJson,
    },
    nodeCrypto.sha256,
  );
}

async function traceOf(service: Service, anchorId: string, asOf: number | null): Promise<Answer> {
  return askWholeTrace(service, anchorId, { as_of: asOf });
}

/** Ids of the hops that a long delegation leaves out, and of their claims. */
async function omittedOf(service: Service, trace: Answer): Promise<readonly string[]> {
  const { delegation, delegationOmitted } = trace.read(readHops);
  if (delegationOmitted === 0) return [];
  const ids: string[] = [];
  let parent = delegation.at(-1)?.grant.parentGrantRef ?? null;
  while (parent !== null) {
    const grant: Omitted = await anchorOf(service, parent, readOmitted);
    ids.push(parent, grant.grantorClaimRef, grant.granteeClaimRef);
    parent = grant.parentGrantRef;
  }
  return ids;
}

async function anchorOf<Anchor>(service: Service, anchorId: string, reader: Reader<Anchor>): Promise<Anchor> {
  const path = `/v1/event-anchors/${anchorId}`;
  return (await service.read({ path }, record<{ readonly anchor: Anchor }>({ anchor: reader }))).anchor;
}

async function newestClaimOf(service: Service, entity: string, attributeType: number): Promise<string | null> {
  const query = { entity_fingerprint: entity, attribute_type: attributeType };
  const answer = await service.ask({ path: "/v1/claim-anchors", query });
  if (answer.status === 404) return answer.read(record({ anchorId: optional(hex32) })).anchorId;
  return expectStatus(answer, 200).read(record({ anchor: record({ anchorId: hex32 }) })).anchor.anchorId;
}

async function partsOf(
  { isSmall, held, demand }: CollectOptions,
  service: Service,
  origins: readonly string[],
  after: number | null,
  progress: Progress,
): Promise<readonly Part[]> {
  const readers: LogReader[] = [];
  for (const origin of origins) {
    const reader = await LogReader.open(service, origin);
    if (reader === null) continue;
    readers.push(demand === null ? reader : await atWitnessedHead(reader, service, { held, demand }));
  }
  const withRanges = after !== null && !isSmall;
  const starts = await Promise.all(
    readers.map((reader) => (withRanges ? reader.firstDepthAfter(after) : Promise.resolve(reader.treeSize))),
  );
  const total = readers.reduce((sum, { treeSize }, at) => sum + treeSize - (starts[at] ?? treeSize), 0);
  if (total > BUNDLE_LIMITS.leavesMax) {
    const message = `${total} leaves have followed, and a bundle holds ${BUNDLE_LIMITS.leavesMax}: use --small`;
    throw new CliError(EXIT.usage, "bundle_too_large", message);
  }
  const parts: Part[] = [];
  for (const [at, reader] of readers.entries()) {
    const from = starts[at] ?? reader.treeSize;
    const say = (count: number): void => progress.say(`read ${count} leaves of ${reader.originFingerprint}`);
    const range = from === reader.treeSize ? null : { from, leaves: await reader.leavesFrom(from, say) };
    parts.push({ reader, range, singles: new Map() });
  }
  return parts;
}

/** A leaf that no range holds. */
async function addSingle(service: Service, parts: readonly Part[], anchorId: string): Promise<void> {
  const { originFingerprint, depth } = await anchorOf(service, anchorId, readPlace);
  const part = parts.find(({ reader }) => reader.originFingerprint === originFingerprint);
  if (part === undefined || depth >= part.reader.treeSize) {
    const message = `${anchorId} is not certified yet, or in an origin without a checkpoint: ask again`;
    throw new CliError(EXIT.unavailable, "not_certified_yet", message);
  }
  if (part.range !== null && depth >= part.range.from) return;
  part.singles.set(depth, await part.reader.leafAt(depth));
}

/** What the service says as of the newest position up to which every leaf is here; else as it said at first. */
async function statedAt(
  service: Service,
  anchorId: string,
  first: Answer,
  after: number | null,
  parts: readonly Part[],
): Promise<Answer> {
  if (after === null || parts.every(({ range }) => range === null)) return first;
  const leaves = parts.flatMap(({ range, singles }) => [...(range?.leaves ?? []), ...singles.values()]);
  const sequence = completeUpTo(after, leaves);
  const { anchor } = first.read(record({ anchor: record({ sequence: count }) }));
  return sequence < anchor.sequence ? first : traceOf(service, anchorId, sequence);
}

async function originPartOf({ reader, range, singles }: Part): Promise<OriginPart> {
  const { originFingerprint, checkpoint, treeSize } = reader;
  const subtrees = subtreesForPart(treeSize, [...singles.keys()], range?.from ?? null);
  return {
    originFingerprint: toOriginFingerprint(hexToBytes(originFingerprint, 32)),
    checkpoint,
    treeSize,
    hashAt: await reader.hashesOf(subtrees),
    leaves: [...singles.values()],
    range,
  };
}
