import { InvalidBytesError, base64ToBytes, hexToBytes, toAnchorId } from "@event-anchoring/protocol";
import { scopeOfJson } from "../scope/parse-scope.ts";
import type { Scope } from "../scope/scope.ts";
import { ScopeError } from "../scope/scope-error.ts";
import { BUNDLE_FORMAT, BUNDLE_LIMITS } from "./bundle.ts";
import type { Bundle, BundleLeaf, BundleRange, BundleState, StatedRecord } from "./bundle.ts";
import { BundleError } from "./bundle-error.ts";
import { readStrictJson } from "../json/strict-json.ts";
import type { BundleJson } from "../json/strict-json.ts";
import { isOverUtf8Bytes } from "../json/text-size.ts";

const HASH_BYTES = 32;
const MEMBERS = [
  "format",
  "subject",
  "as_of",
  "trust_roots",
  "checkpoints",
  "leaves",
  "ranges",
  "state",
  "scopes",
  "stated",
] as const;

/** Members of an object, which has these and no others. */
type Members<Name extends string> = Readonly<Record<Name, BundleJson>>;

function malformed(where: string, what: string): BundleError {
  return new BundleError("bundle_malformed", `${where === "" ? "the bundle" : where} ${what}`);
}

/** @param optional may be missing, and are null then */
function membersOf<Name extends string>(
  value: BundleJson,
  names: readonly Name[],
  where: string,
  optional: readonly Name[] = [],
): Members<Name> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed(where, "is no object");
  const members = new Map(Object.entries(value as Readonly<Record<string, BundleJson>>));
  for (const name of optional) if (!members.has(name)) members.set(name, null);
  const missing = names.find((name) => !members.has(name));
  if (missing !== undefined) throw malformed(where, `has no ${missing}`);
  const unknown = [...members.keys()].find((name) => !names.some((known) => known === name));
  if (unknown !== undefined) throw malformed(where, `has ${JSON.stringify(unknown)}, which nothing is known of`);
  return Object.fromEntries(members) as Members<Name>;
}

function textOf(value: BundleJson, where: string): string {
  if (typeof value !== "string") throw malformed(where, "is no text");
  return value;
}

function integerOf(value: BundleJson, where: string): number {
  if (typeof value !== "number") throw malformed(where, "is no integer");
  return value;
}

function listOf<Item>(
  value: BundleJson,
  where: string,
  max: number,
  read: (item: BundleJson, where: string) => Item,
): Item[] {
  if (!Array.isArray(value)) throw malformed(where, "is no list");
  const items = value as readonly BundleJson[];
  if (items.length > max) throw new BundleError("bundle_too_large", `${where} has more than ${max} items`);
  return items.map((item, at) => read(item, `${where}[${at}]`));
}

/** Turns errors of the byte readers into the one error of this format. */
function bytesOf(where: string, read: () => Uint8Array): Uint8Array {
  try {
    return read();
  } catch (error) {
    if (error instanceof InvalidBytesError) throw malformed(where, `is malformed: ${error.message}`);
    throw error;
  }
}

function base64Of(value: BundleJson, where: string): Uint8Array {
  return bytesOf(where, () => base64ToBytes(textOf(value, where)));
}

function hashOf(value: BundleJson, where: string): Uint8Array {
  return bytesOf(where, () => base64ToBytes(textOf(value, where), HASH_BYTES));
}

function readLeaf(value: BundleJson, where: string): BundleLeaf {
  const { leaf, checkpoint, inclusion } = membersOf(value, ["leaf", "checkpoint", "inclusion"], where);
  return {
    leaf: base64Of(leaf, `${where}.leaf`),
    checkpoint: checkpoint === null ? null : integerOf(checkpoint, `${where}.checkpoint`),
    inclusion: listOf(inclusion, `${where}.inclusion`, BUNDLE_LIMITS.hashesMax, hashOf),
  };
}

function readRange(value: BundleJson, where: string): BundleRange {
  const range = membersOf(value, ["checkpoint", "from", "frontier", "leaves"], where);
  return {
    checkpoint: integerOf(range.checkpoint, `${where}.checkpoint`),
    from: integerOf(range.from, `${where}.from`),
    frontier: listOf(range.frontier, `${where}.frontier`, BUNDLE_LIMITS.hashesMax, hashOf),
    leaves: listOf(range.leaves, `${where}.leaves`, BUNDLE_LIMITS.leavesMax, base64Of),
  };
}

function readRecord(value: BundleJson, where: string): StatedRecord {
  const record = membersOf(value, ["leaf", "value", "level"], where);
  const level = integerOf(record.level, `${where}.level`);
  if (level > BUNDLE_LIMITS.levelMax) throw malformed(`${where}.level`, `is above ${BUNDLE_LIMITS.levelMax}`);
  return { leaf: base64Of(record.leaf, `${where}.leaf`), value: base64Of(record.value, `${where}.value`), level };
}

/** Hashes one after the other, in one text. */
function hashesOf(value: BundleJson, where: string): Uint8Array[] {
  const bytes = base64Of(value, where);
  if (bytes.length % HASH_BYTES !== 0) throw malformed(where, `has ${bytes.length} bytes, which are no hashes`);
  return Array.from({ length: bytes.length / HASH_BYTES }, (_, at) =>
    bytes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES),
  );
}

function stateOf(value: BundleJson): BundleState | null {
  if (value === null) return null;
  const { head, records, siblings } = membersOf(value, ["head", "records", "siblings"], "state");
  return {
    head: textOf(head, "state.head"),
    records: listOf(records, "state.records", BUNDLE_LIMITS.leavesMax, readRecord),
    siblings: hashesOf(siblings, "state.siblings"),
  };
}

/** A disclosure, whose faults are those of the bundle that holds it. */
function readScope(value: BundleJson, where: string): Scope {
  try {
    return scopeOfJson(value);
  } catch (error) {
    if (!(error instanceof ScopeError)) throw error;
    const code = error.code === "scope_too_large" ? "bundle_too_large" : "bundle_malformed";
    throw new BundleError(code, `${where}: ${error.message}`);
  }
}

/** The leaves of all parts are not too many. */
function assertCount({ leaves, ranges, state }: Bundle): void {
  const single = leaves.length + (state?.records.length ?? 0);
  const count = ranges.reduce((sum, range) => sum + range.leaves.length, single);
  if (count > BUNDLE_LIMITS.leavesMax)
    throw new BundleError("bundle_too_large", `${count} leaves, at most ${BUNDLE_LIMITS.leavesMax}`);
}

/** Places in `checkpoints` exist; with a state head there are none, and no ranges. */
function assertPlaces({ checkpoints, leaves, ranges, state }: Bundle): void {
  if (state !== null && checkpoints.length + ranges.length > 0)
    throw malformed("state", "takes the place of checkpoints and ranges, and they are here");
  for (const [part, list] of [
    ["leaves", leaves],
    ["ranges", ranges],
  ] as const) {
    const at = list.findIndex(({ checkpoint }) =>
      checkpoint === null ? state === null : checkpoint >= checkpoints.length,
    );
    if (at >= 0) throw malformed(`${part}[${at}].checkpoint`, "names no checkpoint");
  }
}

function formatOf(value: BundleJson): BundleJson | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw malformed("", "is no object");
  return new Map(Object.entries(value)).get("format");
}

/**
 * Reads a bundle, which may be attacker-controlled: strict, bounded, and nothing is verified.
 * @throws BundleError
 */
export function parseBundle(text: string): Bundle {
  const { bytesMax, depthMax } = BUNDLE_LIMITS;
  if (isOverUtf8Bytes(text, bytesMax)) throw new BundleError("bundle_too_large", `over ${bytesMax} bytes`);
  const json = readStrictJson(text, depthMax, (detail) => new BundleError("bundle_json_invalid", detail));
  if (formatOf(json) !== BUNDLE_FORMAT)
    throw new BundleError("bundle_format_unknown", `its format is not ${BUNDLE_FORMAT}`);
  const { subject, as_of: position, stated, ...parts } = membersOf(json, MEMBERS, "", ["state", "scopes"]);
  const asOf = membersOf(position, ["sequence", "time_ms"], "as_of");
  const { trustRootsMax, checkpointsMax, leavesMax, scopesMax } = BUNDLE_LIMITS;
  const bundle: Bundle = {
    subject: toAnchorId(bytesOf("subject", () => hexToBytes(textOf(subject, "subject"), HASH_BYTES))),
    asOf: {
      sequence: integerOf(asOf.sequence, "as_of.sequence"),
      timeMs: integerOf(asOf.time_ms, "as_of.time_ms"),
    },
    trustRoots: listOf(parts.trust_roots, "trust_roots", trustRootsMax, textOf),
    checkpoints: listOf(parts.checkpoints, "checkpoints", checkpointsMax, textOf),
    leaves: listOf(parts.leaves, "leaves", leavesMax, readLeaf),
    ranges: listOf(parts.ranges, "ranges", checkpointsMax, readRange),
    state: stateOf(parts.state),
    scopes: parts.scopes === null ? [] : listOf(parts.scopes, "scopes", scopesMax, readScope),
    stated: stated === null ? null : statedOf(stated),
  };
  assertCount(bundle);
  assertPlaces(bundle);
  return bundle;
}

/** An object; its content is checked when it is compared. */
function statedOf(value: BundleJson): BundleJson {
  if (typeof value !== "object" || Array.isArray(value)) throw malformed("stated", "is neither an object nor null");
  return value;
}
