#!/usr/bin/env node
/**
 * Speaks JSON lines on stdin and stdout with the tests that hold the verifiers against one another: what the processes
 * of a node say of trust roots and checkpoints, by their own modules. Needs the build.
 *
 * - A trust root is judged where a node starts (`KnownTrustRoot`), where its log decides (`decideEntry`), and where the
 *   api process reads its tables (`TrustRootReader`).
 * - A checkpoint is posted to `/witness/add-checkpoint`, which judges the log's line for other logs, and its
 *   cosignatures are judged as the certificate of a snapshot (`verifyCertificate`).
 */
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { ApiMetrics, Proxies, PublicLog, TrustRootReader, serveWitness } from "@event-anchoring/api";
import { parseWitnessedLogs } from "@event-anchoring/control-contract";
import { Witness } from "@event-anchoring/control-plane";
import { NO_FACTS, advance, decideEntry, emptyLedgerState } from "@event-anchoring/ledger";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  CheckpointError,
  DecodeError,
  NoteError,
  VKEY_TYPE,
  bytesToHex,
  checkpointOrigin,
  cosignerName,
  formatAddCheckpoint,
  formatVkey,
  hexToBytes,
  makeVkey,
  parseCheckpoint,
  parseCosignatureLine,
  parseNote,
} from "@event-anchoring/protocol";
import { KnownTrustRoot } from "../../../control-plane/dist/membership/known-trust-root.js";
import { verifyCertificate } from "../../../store/dist/snapshot/snapshot-signatures.js";

const { sha256 } = nodeCrypto;
const TIME_MS = 1_790_000_000_000;
/** As the constructor of KnownTrustRoot says it. */
const CONFIGURED_REFUSED = /^the configured trust root is refused: (?<code>\w+)$/u;
/** As a rejection of the ledger begins that comes from a rule of trust roots. */
const NOTE_CODE = /^(note_\w+|signature_line_invalid|signatures_too_many)$/u;
const RULE_BROKEN = /^(?<code>[a-z_]+): /u;

/**
 * A node that is set up with these documents, as its operator stored them, and one that learns all but the first from a
 * peer. @returns the newest version, or a code
 */
function startedWith(documents, rootThk) {
  const [document, ...laterTrustRoots] = documents;
  const configured = { document, rootThk };
  try {
    const { newest } = new KnownTrustRoot({ configured, laterTrustRoots }, () => {});
    const learner = new KnownTrustRoot({ configured }, () => {});
    learner.learn(laterTrustRoots);
    return learner.newest.version === newest.version ? { version: newest.version } : { code: "not_learnt" };
  } catch (error) {
    const { code } = CONFIGURED_REFUSED.exec(error.message)?.groups ?? {};
    if (code === undefined) throw error;
    return { code };
  }
}

/** The first is proposed as genesis, each other one as the next version. @returns the newest one, or a code */
function decided(documents) {
  const state = emptyLedgerState(sha256);
  for (const [at, document] of documents.entries()) {
    const command = { kind: at === 0 ? "genesis" : "trust_root", document };
    const group = { id: { node: 1n, incarnation: 1, counter: at }, notAfter: 1000, commands: [command] };
    const entry = { version: 1, certify: true, acceptedMs: TIME_MS, certificates: [], groups: [group] };
    const decision = decideEntry(state, { index: at + 1, term: 1, entry }, NO_FACTS, nodeCrypto);
    const [{ commands: [outcome] = [] }] = decision.outcomes;
    if (outcome.kind !== "applied") return { code: codeOf(outcome) };
    advance(state, decision);
  }
  return { version: state.trustRootChain.newest.trustRoot.version };
}

/** null: the ledger refuses it by a rule of its own. */
function codeOf({ kind, rejection }) {
  const code = kind === "rejected" ? (RULE_BROKEN.exec(rejection.detail)?.groups.code ?? null) : null;
  // It says why a text is no note; elsewhere that is one code.
  return NOTE_CODE.test(code ?? "") ? "malformed" : code;
}

/** What the api process reads in its tables. @returns the chain, or null */
async function readFrom(documents, rootThk) {
  const trustRoots = documents.map((document) => ({ document, rootThk }));
  const read = { trustRootVersion: documents.length, select: async () => ({ trustRoots }) };
  try {
    return await new TrustRootReader(nodeCrypto, rootThk).chain(read);
  } catch (error) {
    if (error.code !== "unavailable") throw error;
    return null;
  }
}

/** The node's answer. Its three readers must agree, but for what the ledger alone refuses. */
async function judgeTrustRoot({ trust_roots: documents, pinned_root_thk: pin }) {
  const rootThk = hexToBytes(pin, 32);
  const { version, code } = startedWith(documents, rootThk);
  const [ledger, tables] = [decided(documents), await readFrom(documents, rootThk)];
  // The ledger knows no pin: a node compares it with what was decided.
  const isDecidedAlike = code === "pin_mismatch" || ledger.code === null || ledger.code === code;
  const isAlike = isDecidedAlike && (code === undefined) === (tables !== null);
  if (!isAlike) {
    const told = { started: code ?? "verified", decided: ledger.code ?? "applied", read: tables !== null };
    return { error: { code: "server_differs", ...told } };
  }
  if (code !== undefined) return { error: { code } };
  return { ok: { verdict: "valid", version, root_thk: bytesToHex(tables.newest.rootThk) } };
}

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
/** It stands still: each checkpoint is the first of its log, and no budget is spent. */
const clock = { wallMs: () => TIME_MS, monotonicMs: () => 0 };
const signer = createSigner(new Uint8Array(32).fill(0x9e));
const vkey = makeVkey("witness.example", VKEY_TYPE.cosignature, signer.publicKey, sha256);
const metrics = new ApiMetrics({ outstanding: () => 0, stoppedReason: () => null, databaseUsage: async () => null });
const UNLIMITED = { addressRequestsPerSecond: 1e6, requestsPerSecond: 1e6 };
const ANSWERS = new Map([
  [200, "cosigned"],
  [400, "malformed"],
  [403, "untrusted"],
  [404, "log_unknown"],
]);

/** The witness that is asked now. */
let service = null;
const server = createServer((request, response) => {
  if (!serveWitness(request, response, service, { clock, logger: silent, metrics })) response.writeHead(418).end();
});
// On a busy machine a connection may be idle for long between two questions: it must not end as the next one comes.
server.keepAliveTimeout = 0;
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const URL_OF_WITNESS = `http://127.0.0.1:${server.address().port}/witness/add-checkpoint`;

/** A witness that has cosigned nothing yet. */
function witnessOf(origins) {
  const listed = origins.map(({ logVkey }) => `vkey ${formatVkey(logVkey)}\n`);
  const logs = parseWitnessedLogs(`logs/v0\n${listed.join("")}`, sha256);
  const store = {
    current: { vkey, isSpent: false, heads: new Map() },
    save: async (promises) => {
      store.current = promises;
    },
  };
  const witness = new Witness({ logs, store, signer, crypto: nodeCrypto, clock, logger: silent });
  const controlPlane = { addCheckpoint: (body) => witness.add(body), cosignedCheckpoint: async () => null };
  const callers = new PublicLog({ rates: UNLIMITED, proxies: new Proxies([]), clock });
  return { logs, controlPlane, callers, crypto: nodeCrypto };
}

/** What the route says of the log's line: it asks for no quorum. */
async function asWitness(checkpoint, { origins }) {
  service = witnessOf(origins);
  const body = formatAddCheckpoint({ oldSize: 0, proof: [], checkpoint });
  const response = await fetch(URL_OF_WITNESS, { method: "POST", body });
  const text = await response.text();
  // A tree without leaves has one root, which the SDKs leave to whoever compares trees. The log's line is good by then.
  if (response.status === 422 && readNote(checkpoint)?.treeSize === 0) return "cosigned";
  const answer = ANSWERS.get(response.status);
  if (answer === undefined) throw new Error(`the witness answers ${response.status}: ${text}`);
  return answer;
}

/** null: no checkpoint. */
function readNote(checkpoint) {
  try {
    const note = parseNote(checkpoint);
    return { lines: note.lines, ...parseCheckpoint(note.text) };
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) return null;
    throw error;
  }
}

function cosignaturesIn(lines, { clusterName, nodes }) {
  return lines.flatMap((line) => {
    const node = nodes.find(({ nodeId }) => line.name === cosignerName(clusterName, nodeId));
    // A snapshot names no key ids: a line of another key is none of the node's.
    if (node === undefined || line.keyId !== node.cosignerVkey.keyId) return [];
    try {
      return [{ nodeId: node.nodeId, ...parseCosignatureLine(line) }];
    } catch (error) {
      if (error instanceof DecodeError) return [];
      throw error;
    }
  });
}

function isRefused(certificate, chain) {
  try {
    verifyCertificate(certificate, chain);
    return false;
  } catch (error) {
    if (error.code !== "snapshot_refused") throw error;
    return true;
  }
}

/**
 * The versions by which a snapshot may hold it as a certificate, at the time of one of its lines.
 * @returns null: a node's chain begins with version 1, and this one does not
 */
function certifiedBy(checkpoint, chain) {
  if (chain.versions[0].trustRoot.version !== 1) return null;
  const note = readNote(checkpoint);
  if (note === null) return [];
  return chain.versions.flatMap(({ trustRoot }) => {
    const { version, origins, clusterName } = trustRoot;
    const origin = origins.find(({ originFingerprint: each }) => checkpointOrigin(clusterName, each) === note.origin);
    if (origin === undefined) return [];
    const cosignatures = cosignaturesIn(note.lines, trustRoot);
    const { originFingerprint } = origin;
    const { treeSize, rootHash } = note;
    const certificate = { originFingerprint, treeSize, rootHash, cosignatures, trustRootVersion: version };
    const isHeld = cosignatures.some(({ timeS }) => !isRefused({ ...certificate, certifiedAtS: timeS }, chain));
    return isHeld ? [version] : [];
  });
}

async function judgeCheckpoint({ checkpoint, trust_roots: documents, pinned_root_thk: pin }) {
  const chain = await readFrom(documents, hexToBytes(pin, 32));
  if (chain === null) throw new Error("checkpoints are judged by good trust roots");
  const witness = await asWitness(checkpoint, chain.newest.trustRoot);
  const newest = chain.newest.trustRoot.version;
  return { ok: { witness, certified_by: certifiedBy(checkpoint, chain), newest } };
}

const JUDGES = { verify_trust_root: judgeTrustRoot, verify_checkpoint: judgeCheckpoint };

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "") continue;
  const question = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(await JUDGES[question.op](question))}\n`);
}
server.close();
server.closeAllConnections();
