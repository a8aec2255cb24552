/**
 * CPU and JS heap of one leaf through decodeEntry, and through factsNeeded, decideEntry and advance. Run after `npm run
 * build`; `--expose-gc` is for the heap, which needs room for all garbage of a measurement:
 *
 *   node --expose-gc --min-semi-space-size=64 --max-semi-space-size=64 packages/ledger/bench/decide.js [other checkout]
 *
 * The other checkout, which must be built too, is measured in the same process, in turns with this one, so that the
 * ratio of the two does not depend on how busy the machine is.
 */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const HERE = resolve(import.meta.dirname, "../../..");
const ROUNDS = 16;
const WARMING_ROUNDS = 5;
/** Entries of one measurement: about as many leaves of each shape. */
const LEAVES_A_ROUND = 4000;

const { chains } = JSON.parse(readFileSync(join(HERE, "test/vectors/trust-root.json"), "utf8"));

/** The modules of a checkout. */
async function load(folder) {
  const of = (name) => import(pathToFileURL(join(folder, "packages", name, "dist/index.js")).href);
  const [ledger, protocol, node] = await Promise.all(["ledger", "protocol", "node-crypto"].map(of));
  return { ...ledger, ...protocol, ...node };
}

/** 32 bytes that only the number decides. */
function bytesOf(number, length = 32) {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 1) bytes[at] = Math.floor(number / 256 ** (at % 4)) % 256;
  return bytes;
}

class Bench {
  #modules;
  #state;
  #origin;
  #genesisId;
  #credential = { apiClientId: bytesOf(1, 16), keyId: bytesOf(2, 16) };
  #stampMs = 1_800_000_000_000;
  #counter = 0;
  #leaves = 0;

  constructor(modules) {
    this.#modules = modules;
    const { emptyLedgerState, nodeCrypto } = modules;
    this.#state = emptyLedgerState(nodeCrypto.sha256);
    const [document] = chains.good[0].documents;
    this.apply(this.entry([[{ kind: "genesis", document }]]));
    const [{ originFingerprint, lastAnchorId }] = this.#state.origins.values();
    this.#origin = originFingerprint;
    this.#genesisId = lastAnchorId;
    // No operator signs it: what a key may do is no part of what is measured.
    this.#state.apiKeys.set(modules.bytesToHex(this.#credential.keyId), {
      ...this.#credential,
      keyHash: bytesOf(2),
      scopes: ["read", "write"],
      expiresMs: 0,
      revokedMs: 0,
    });
  }

  /** @param groups lists of commands */
  entry(groups) {
    this.#stampMs += 1;
    const encoded = groups.map((commands) => {
      this.#counter += 1;
      const id = { node: 7n, incarnation: 1, counter: this.#counter };
      return { id, notAfter: this.#counter + 50_000, commands };
    });
    const content = { version: 1, certify: true, acceptedMs: this.#stampMs, certificates: [], groups: encoded };
    return this.#modules.encodeEntry(content);
  }

  /** As the entry of one shape. */
  make({ groups, events, kind }) {
    return this.entry(Array.from({ length: groups }, () => [this.#command(events, kind)]));
  }

  #command(events, kind) {
    if (kind === "claim") return this.#claim();
    const made = Array.from({ length: events }, () => this.#event(kind));
    return { kind: "record_events", credential: this.#credential, atomic: false, events: made };
  }

  #event(kind) {
    this.#leaves += 1;
    const isNamed = kind === "named";
    const empty = this.#modules.EMPTY_SEMANTIC_ANCHOR;
    return {
      originFingerprint: this.#origin,
      eventHash: bytesOf(this.#leaves),
      semanticAnchor: isNamed ? { ...empty, scrollRef: this.#genesisId, eventDataHash: bytesOf(5) } : empty,
      clientEventId: isNamed ? `order-${this.#leaves}` : null,
      clientEventSalt: isNamed ? bytesOf(6) : null,
      actor: null,
    };
  }

  #claim() {
    this.#leaves += 1;
    const claim = {
      originFingerprint: this.#origin,
      entityFingerprint: bytesOf(this.#leaves),
      attributeType: 1,
      attributeHash: bytesOf(this.#leaves + 1),
      issuedAt: 0,
      expiresAt: 0,
      subjectPublicKey: bytesOf(this.#leaves + 2),
      subjectSignature: bytesOf(8, 64),
      issuerPublicKey: bytesOf(9),
      issuerSignature: bytesOf(10, 64),
    };
    return { kind: "record_claim", credential: this.#credential, claim };
  }

  decode(payload) {
    return this.#modules.decodeEntry(payload);
  }

  /** Decides and advances. Signatures count as good: their verdicts are known when an entry is decided. */
  apply(payload, entry = this.decode(payload)) {
    const { factsNeeded, decideEntry, advance, nodeCrypto, NO_FACTS, bytesToHex, LEAF_KIND } = this.#modules;
    const query = factsNeeded(entry, this.#state);
    const anchors = new Map(
      query.anchors.map((id) => [bytesToHex(id), { kind: LEAF_KIND.event, sequence: 0, clientEvent: null }]),
    );
    const facts = query.anchors.length === 0 ? NO_FACTS : { ...NO_FACTS, anchors };
    const crypto = this.#state.trustRootChain === null ? nodeCrypto : { ...nodeCrypto, ed25519Verify: () => true };
    const committed = { index: this.#state.appliedIndex + 1, term: 1, entry };
    const decision = decideEntry(this.#state, committed, facts, crypto);
    advance(this.#state, decision);
    for (const origin of this.#state.origins.values()) origin.tree.forgetBefore(Math.max(0, origin.tree.size - 4096));
    return decision;
  }
}

const SHAPES = [
  { name: "64 x 1 plain event", groups: 64, events: 1, kind: "plain" },
  { name: "1 x 500 plain events", groups: 1, events: 500, kind: "plain" },
  { name: "1 x 1,000 plain events", groups: 1, events: 1000, kind: "plain" },
  { name: "1 x 500 with id and reference", groups: 1, events: 500, kind: "named" },
  { name: "64 x 1 with id and reference", groups: 64, events: 1, kind: "named" },
  { name: "64 x 1 claim", groups: 64, events: 1, kind: "claim" },
];

function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** One measurement: microseconds of CPU for each leaf. */
function measure(bench, shape) {
  const leaves = shape.groups * shape.events;
  const payloads = Array.from({ length: Math.ceil(LEAVES_A_ROUND / leaves) }, () => bench.make(shape));
  const count = payloads.length * leaves;
  const started = cpuUs();
  const entries = payloads.map((payload) => bench.decode(payload));
  const decoded = cpuUs();
  const outcomes = payloads.map((payload, at) => bench.apply(payload, entries[at]).outcomes);
  const applied = cpuUs();
  if (outcomes.some(isRefused)) throw new Error("an entry was refused");
  return { decode: (decoded - started) / count, apply: (applied - decoded) / count };
}

function isRefused(groups) {
  const outcomes = groups.flatMap((group) => group.commands);
  return outcomes.some(
    ({ kind, records }) => kind !== "records" || records.some(({ status }) => status !== "accepted"),
  );
}

/** Bytes of JS heap that one leaf allocates, garbage included: no collection happens in between. */
function heapOf(bench, shape) {
  const payloads = Array.from({ length: Math.ceil(1000 / (shape.groups * shape.events)) }, () => bench.make(shape));
  globalThis.gc();
  const before = process.memoryUsage().heapUsed;
  for (const payload of payloads) bench.apply(payload);
  return (process.memoryUsage().heapUsed - before) / (payloads.length * shape.groups * shape.events);
}

/** The lower quartile: what the shape costs while nothing else disturbs it. */
function typical(values) {
  return values.sort((left, right) => left - right)[Math.floor(values.length / 4)] ?? Number.NaN;
}

const folders = [HERE, ...process.argv.slice(2).map((folder) => resolve(folder))];
const checkouts = await Promise.all(folders.map(async (folder) => ({ folder, bench: new Bench(await load(folder)) })));

const taken = SHAPES.map(() => checkouts.map(() => ({ decode: [], apply: [] })));

// All shapes in turns, as a node meets them, and the checkouts in changing order.
for (let round = -WARMING_ROUNDS; round < ROUNDS; round += 1) {
  for (const [which, shape] of SHAPES.entries()) {
    const order = [...checkouts.entries()];
    for (const [at, { bench }] of round % 2 === 0 ? order : order.toReversed()) {
      const { decode, apply } = measure(bench, shape);
      if (round < 0) continue;
      taken[which][at].decode.push(decode);
      taken[which][at].apply.push(apply);
    }
  }
}

for (const [which, shape] of SHAPES.entries()) {
  for (const [at, { folder, bench }] of checkouts.entries()) {
    const decode = typical(taken[which][at].decode).toFixed(2);
    const apply = typical(taken[which][at].apply).toFixed(2);
    const bytes = globalThis.gc === undefined ? null : heapOf(bench, shape);
    const heap = bytes === null ? "" : `, ${bytes.toFixed(0)} B of JS heap`;
    console.log(`${shape.name}: decode ${decode} µs, decide and advance ${apply} µs a leaf${heap} (${folder})`);
  }
}
