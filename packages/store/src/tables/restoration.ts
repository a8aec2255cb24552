/** The row that says which backup a database began from. */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  InvalidBytesError,
  bytesToUtf8,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { EntryId } from "raft-ts";
import type { Reader, Session } from "../postgres/connection.ts";
import { StoreError } from "../postgres/errors.ts";

/** What a database was restored from, and its purpose. */
export interface Restoration {
  /**
   * `node`: it joins a living group. `cluster`: it begins a new group, with other nodes that were restored from the
   * same backup.
   */
  readonly scope: "node" | "cluster";
  /** The node that the database is for. */
  readonly nodeId: string;
  /** Hash of the backup, 32 bytes. */
  readonly backupSha256: Uint8Array;
  /** The last entry in the state; the log goes on after it. */
  readonly point: EntryId;
  /** Effect chain there, 32 bytes. */
  readonly effect: Uint8Array;
  /** Signed trust roots that the new group applies before anything else, oldest first; none for a single node. */
  readonly trustRoots: readonly string[];
}

interface RestorationRow {
  readonly scope: Restoration["scope"];
  readonly node_id: string;
  readonly backup_sha256: Uint8Array;
  readonly raft_index: number;
  readonly raft_term: number;
  readonly effect: Uint8Array;
  readonly trust_roots: Uint8Array;
}

/** null: this database began empty. @throws StoreError `corrupt` */
export async function loadRestoration(session: Reader): Promise<Restoration | null> {
  const [row] = await session.read<RestorationRow>({
    text: `SELECT scope, node_id, backup_sha256, raft_index, raft_term, effect, trust_roots FROM node.restoration`,
  });
  if (row === undefined) return null;
  return {
    scope: row.scope,
    nodeId: row.node_id,
    backupSha256: row.backup_sha256,
    point: { index: row.raft_index, term: row.raft_term },
    effect: row.effect,
    trustRoots: decodeDocuments(row.trust_roots),
  };
}

/** Called within the transaction that writes the state. */
export async function insertRestoration(session: Session, restoration: Restoration): Promise<void> {
  const { scope, nodeId, backupSha256, point, effect, trustRoots } = restoration;
  await session.write(
    {
      text: `INSERT INTO node.restoration
          (scope, node_id, backup_sha256, raft_index, raft_term, effect, trust_roots)
        VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    },
    [scope, nodeId, backupSha256, point.index, point.term, effect, encodeDocuments(trustRoots)],
  );
}

function encodeDocuments(documents: readonly string[]): Uint8Array {
  const writer = new ByteWriter(1024);
  for (const document of documents) writer.lengthPrefixed32(utf8ToBytes(document));
  return writer.finish();
}

function decodeDocuments(bytes: Uint8Array): readonly string[] {
  const documents: string[] = [];
  try {
    const reader = new ByteReader(bytes);
    while (reader.remaining > 0) documents.push(bytesToUtf8(reader.lengthPrefixed32()));
    return documents;
  } catch (cause) {
    if (!(cause instanceof DecodeError) && !(cause instanceof InvalidBytesError)) throw cause;
    throw new StoreError("corrupt", "the trust roots of a restored cluster cannot be read", { cause });
  }
}
