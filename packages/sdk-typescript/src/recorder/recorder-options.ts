import { join } from "node:path";
import type { EnvelopeAttachment } from "@event-anchoring/bundle";
import type { Client } from "../client.ts";
import { InvalidInput } from "../errors.ts";
import { count, hex32, members } from "../inputs.ts";
import type { Bytes32 } from "../inputs.ts";
import type { SemanticAnchorInput } from "../prepare-event.ts";
import type { Signer } from "../signing.ts";
import type { RecorderFiles } from "./files.ts";
import { NODE_FILES } from "./files.ts";
import type { KeptEvent } from "./recorded-event.ts";

/** How far a recorder is, since it was opened; what an earlier run has left counts as recorded. */
export interface RecorderProgress {
  readonly recorded: number;
  /** Would survive the loss of power. */
  readonly durable: number;
  readonly anchored: number;
  readonly refused: number;
}

/** How a recorder is opened. */
export interface RecorderOptions {
  /** What it sends with. Its retries come first. */
  readonly client: Pick<Client, "createEventAnchors">;
  /** A folder of its own, which is made if there is none. */
  readonly directory: string;
  /** Where envelopes and receipts are kept. Default: `kept` in the folder. */
  readonly keep?: string | undefined;
  /** Events that are sent together, at most. Default: 1,000. */
  readonly batchEventsMax?: number | undefined;
  /** How long an event waits for others, in ms. Default: 200. */
  readonly batchMs?: number | undefined;
  /** How much may wait to be anchored. `record` refuses more with SpoolFull. Default: 256 MiB. */
  readonly spoolBytesMax?: number | undefined;
  /** Every event gets a salt, so that nobody can guess its content by its hash. Default: false. */
  readonly salt?: boolean | undefined;
  /** Who acts, for the envelopes that do not say it. */
  readonly who?: string | undefined;
  /** What events refer to that do not say it. */
  readonly semanticAnchor?: SemanticAnchorInput | undefined;
  /** The actor: every event is signed when it is sent. */
  readonly actorSigner?: Signer | undefined;
  readonly onAnchored?: ((kept: KeptEvent) => void) | undefined;
  /** What the retries of the client could not settle, and what is refused. Default: a warning of the process. */
  readonly onError?: ((error: Error) => void) | undefined;
  readonly onProgress?: ((progress: RecorderProgress) => void) | undefined;
  /** How long the end of the program is held up for what is not anchored yet, in ms. Default: 5,000; 0: not at all. */
  readonly exitFlushMs?: number | undefined;
  /** Stands in for the file system. For tests. */
  readonly files?: Partial<RecorderFiles> | undefined;
}

/** What an event says beside its content. */
export interface RecordOptions {
  /** Type of the event, such as `tool.call`. */
  readonly what: string;
  /** When it happened. Default: now. A text is kept as it is. */
  readonly when?: Date | string | undefined;
  readonly who?: string | undefined;
  /** Default: `application/json`, of bytes `application/octet-stream`. */
  readonly contentType?: string | undefined;
  readonly attachments?: readonly AttachmentInput[] | undefined;
  /** 32 bytes, or true: random ones. Whoever has the salt can hold a guess at the content against the hash. */
  readonly salt?: boolean | Bytes32 | undefined;
  readonly semanticAnchor?: SemanticAnchorInput | undefined;
  /** 16 bytes, or 32 hex digits. Default: random ones. */
  readonly clientEventId?: Uint8Array | string | undefined;
}

/** Something that lies elsewhere, named by its SHA-256. */
export interface AttachmentInput {
  readonly name: string;
  readonly contentType: string;
  readonly size: number;
  readonly hash: Bytes32;
}

/** Options as they were read. */
export interface RecorderSettings {
  readonly client: Pick<Client, "createEventAnchors">;
  readonly directory: string;
  readonly keep: string;
  readonly batchEventsMax: number;
  readonly batchMs: number;
  readonly spoolBytesMax: number;
  readonly salt: boolean;
  readonly who: string | null;
  readonly semanticAnchor: SemanticAnchorInput | null;
  readonly actorSigner: Signer | undefined;
  readonly onAnchored: (kept: KeptEvent) => void;
  readonly onError: (error: Error) => void;
  readonly onProgress: (progress: RecorderProgress) => void;
  readonly exitFlushMs: number;
  readonly files: RecorderFiles;
}

const BATCH_EVENTS_MAX = 1_000;

function between(
  field: string,
  value: number | undefined,
  fallback: number,
  [min, max]: readonly [number, number],
): number {
  const chosen = value === undefined ? fallback : count(field, value);
  if (chosen < min || chosen > max) throw new InvalidInput(field, `expected an integer from ${min} to ${max}`);
  return chosen;
}

/** @throws InvalidInput */
export function recorderSettings(options: RecorderOptions): RecorderSettings {
  const { client, directory } = members("options", options) as unknown as RecorderOptions;
  if (typeof directory !== "string" || directory === "") throw new InvalidInput("directory", "expected a path");
  const send: unknown = (client as Partial<RecorderOptions["client"]> | undefined)?.createEventAnchors;
  if (typeof send !== "function") throw new InvalidInput("client", "expected a Client");
  return {
    client,
    directory,
    keep: options.keep ?? join(directory, "kept"),
    batchEventsMax: between("batchEventsMax", options.batchEventsMax, BATCH_EVENTS_MAX, [1, BATCH_EVENTS_MAX]),
    batchMs: between("batchMs", options.batchMs, 200, [0, 60_000]),
    spoolBytesMax: between("spoolBytesMax", options.spoolBytesMax, 256 * 1024 * 1024, [1, Number.MAX_SAFE_INTEGER]),
    salt: options.salt ?? false,
    who: options.who ?? null,
    semanticAnchor: options.semanticAnchor ?? null,
    actorSigner: options.actorSigner,
    onAnchored: options.onAnchored ?? (() => undefined),
    onError: options.onError ?? ((error) => process.emitWarning(error)),
    onProgress: options.onProgress ?? (() => undefined),
    exitFlushMs: between("exitFlushMs", options.exitFlushMs, 5_000, [0, 3_600_000]),
    files: { ...NODE_FILES, ...options.files },
  };
}

/** @throws InvalidInput */
export function attachmentsOf(given: readonly AttachmentInput[] | undefined): readonly EnvelopeAttachment[] {
  return (given ?? []).map(({ name, contentType, size, hash }, at) => {
    return { name, contentType, size, hash: hex32(`attachments[${at}].hash`, hash) };
  });
}
