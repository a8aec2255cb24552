/** Checks a stream of records, such as a backup's, without tables. */
import type { ApiKey, LeafWalk, WalkedOrigin } from "@event-anchoring/ledger";
import { scopesToBits } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import type { SnapshotCertificate, SnapshotHeader, SnapshotLeaf, SnapshotRecord } from "../snapshot/snapshot-format.ts";
import { CertificateChecks } from "./certificates.ts";
import { judgeClientEvent, judgeRecorder } from "./client-events.ts";
import { Findings } from "./findings.ts";
import { judgeApiKey, judgeOperatorAct } from "./key-table.ts";
import { anchorRow, leafWalkInto } from "./leaf-walk.ts";
import { LeavesInMemory } from "./leaf-lookup.ts";
import { NamedLeaves, judgeNested } from "./named-leaves.ts";
import { DIFFERENCES_MAX_DEFAULT } from "./options.ts";
import type { FsckOptions, FsckReport } from "./options.ts";
import { SignatureChecks } from "./signature-checks.ts";
import { judgedChain, trustRootRow } from "./trust-roots.ts";

/** Leaves whose signatures are verified side by side. */
const BATCH_LEAVES = 1000;

const LEDGER_ROW = { table: "state.ledger", key: "the only row", at: Number.MAX_SAFE_INTEGER };

/** Takes records in their order. */
class RecordStream {
  readonly findings: Findings;
  readonly #options: FsckOptions;
  readonly #signatures: SignatureChecks;
  readonly certificates: CertificateChecks;
  readonly #leaves = new LeavesInMemory();
  readonly #documents: string[] = [];
  readonly walk: LeafWalk;
  #hasChain = false;
  #header: SnapshotHeader | null = null;
  #isEnded = false;
  /** The origin of the previous leaf; null: the leaf could not be read, or is covered already. */
  #uncovered: WalkedOrigin | null = null;
  #batch: Leaf[] = [];

  constructor(options: FsckOptions) {
    const { findsAll = false, differencesMax = DIFFERENCES_MAX_DEFAULT } = options;
    this.#options = options;
    this.findings = new Findings({ findsAll, differencesMax });
    this.walk = leafWalkInto(this.findings);
    this.#signatures = new SignatureChecks(this.findings);
    this.certificates = new CertificateChecks(this.findings, this.#signatures, this.walk);
  }

  /** @returns true once a batch is full and must be settled */
  add(record: SnapshotRecord): boolean {
    switch (record.type) {
      case "header":
        this.#header = record;
        return false;
      case "trust_root":
        this.#documents.push(record.document);
        return false;
      case "api_key":
        judgeApiKey(statedKey(record.apiKey), this.findings);
        return false;
      case "operator":
        judgeOperatorAct(record.act.operator, String(record.act.counter), this.findings);
        return false;
      case "state_head":
      case "group_ids":
        return false;
      case "leaf":
        this.startChain();
        this.#addLeaf(record);
        return this.#batch.length >= BATCH_LEAVES;
      case "certificate":
        this.#addCertificate(record);
        return false;
      case "end":
        this.#isEnded = true;
        return false;
    }
  }

  startChain(): void {
    if (this.#hasChain) return;
    this.#hasChain = true;
    this.walk.setChain(judgedChain(this.#documents, this.#options.pinnedRootThk, this.findings));
  }

  #addLeaf({ bytes, clientEvent, recordedBy }: SnapshotLeaf): void {
    this.findings.checked.leaves += 1;
    const walked = this.walk.place(bytes, null);
    this.#uncovered = walked?.origin ?? null;
    if (walked === null) {
      this.#leaves.skip();
      return;
    }
    const { leaf, anchorId } = walked;
    this.#leaves.add(anchorId, leaf.kind, bytes);
    judgeRecorder(leaf, recordedBy, anchorRow(leaf.sequence), this.findings);
    judgeClientEvent(leaf, clientEvent, anchorRow(leaf.sequence), this.findings);
    this.#batch.push(leaf);
  }

  #addCertificate(record: SnapshotCertificate): void {
    const origin = this.#uncovered;
    const at = this.walk.nextSequence - 1;
    if (origin === null) {
      const name = { table: "state.certificates", key: `after sequence ${at}`, at };
      this.findings.add(name, null, "a certificate that follows no leaf", "one behind the leaf it covers");
      return;
    }
    this.#uncovered = null;
    const certificate = {
      ...record,
      certifiedAtS: String(record.certifiedAtS),
      trustRootVersion: String(record.trustRootVersion),
    };
    this.certificates.judge({ certificate, origin, at });
  }

  async settle(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    const named = await NamedLeaves.load(batch, this.#leaves);
    for (const leaf of batch) judgeNested(leaf, named, { findings: this.findings, signatures: this.#signatures });
    await this.#signatures.settle();
    this.findings.settle();
    const total = this.#header?.nextSequence ?? null;
    this.#options.onProgress?.({ phase: "leaves", done: this.walk.nextSequence, total });
  }

  /** Compares the whole with what the header stated. */
  end(): void {
    this.startChain();
    if (this.#header === null || !this.#isEnded) {
      this.findings.add(LEDGER_ROW, null, "a stream without its header or its end", "a whole stream");
      return;
    }
    const { nextSequence, lastAcceptedMs } = this.#header;
    this.findings.compare(
      LEDGER_ROW,
      { next_sequence: nextSequence, last_accepted_ms: lastAcceptedMs },
      { next_sequence: this.walk.nextSequence, last_accepted_ms: this.walk.lastAcceptedMs },
    );
    const missing = this.walk.announcedAt.length + 1;
    if (this.walk.version(missing) === null) return;
    this.findings.add(trustRootRow(missing), "sequence", "of no leaf", "that of the leaf which announces it");
  }
}

function statedKey(key: ApiKey): Parameters<typeof judgeApiKey>[0] {
  const { keyId, keyHash, label, scopes, expiresMs, requestsPerSecond, createdMs, revokedMs } = key;
  const numbers = {
    expires_ms: String(expiresMs),
    requests_per_second: String(requestsPerSecond),
    created_ms: String(createdMs),
    revoked_ms: String(revokedMs),
    created_counter: String(key.createdBy.counter),
    ended_counter: String(key.endedBy?.counter ?? 0),
  };
  const names = { label, createdBy: key.createdBy.operator, endedBy: key.endedBy?.operator ?? "" };
  return { keyId, keyHash, ...names, numbers, scopes: scopesToBits(scopes) };
}

/** What was walked, and its certificates. */
interface Walked {
  readonly walk: LeafWalk;
  readonly certificates: CertificateChecks;
}

export function reportOf(findings: Findings, { walk, certificates }: Walked): FsckReport {
  const newest = walk.chain?.newest ?? null;
  return {
    differences: findings.differences,
    differenceCount: findings.count,
    checked: { ...findings.checked },
    trustRoot: newest === null ? null : { version: newest.trustRoot.version, rootThk: newest.rootThk },
    origins: walk
      .origins()
      .map((origin) => ({
        originFingerprint: origin.originFingerprint,
        treeSize: origin.frontier.size,
        rootHash: walk.rootOf(origin),
        certifiedSize: certificates.certifiedSizeOf(origin),
      }))
      .toSorted((a, b) => (bytesToHex(a.originFingerprint) < bytesToHex(b.originFingerprint) ? -1 : 1)),
  };
}

/**
 * Checks everything in the records of a snapshot: places, hashes, trees, every certificate, every signature inside a
 * leaf, references between leaves, and the chain of trust roots. Differences are not thrown; they are reported under
 * the table that the record would go into. Takes some 50 bytes of memory for a leaf, 450 for a claim or grant.
 * @param records header first, end last
 */
export async function fsckRecords(
  records: AsyncIterable<SnapshotRecord> | Iterable<SnapshotRecord>,
  options: FsckOptions,
): Promise<FsckReport> {
  const stream = new RecordStream(options);
  for await (const record of records) {
    if (!stream.add(record)) continue;
    await stream.settle();
    if (stream.findings.isEnough) return reportOf(stream.findings, stream);
  }
  stream.end();
  await stream.settle();
  return reportOf(stream.findings, stream);
}
