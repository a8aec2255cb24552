import { createHash, randomFillSync } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { EnvelopeError, formatEnvelope, parseEnvelope } from "@event-anchoring/bundle";
import type { Envelope, JsonContent } from "@event-anchoring/bundle";
import { bytesToHex } from "@event-anchoring/protocol";
import { AnchoringError, InvalidInput } from "../errors.ts";
import { hex32 } from "../inputs.ts";
import type { Bytes32 } from "../inputs.ts";
import { prepareEventAnchor } from "../prepare-event.ts";
import type { SemanticAnchorInput } from "../prepare-event.ts";
import { fieldsOf } from "./ask-service.ts";
import { Delivery } from "./delivery.ts";
import { NotFlushed } from "./errors.ts";
import { FOLDER_MODE } from "./files.ts";
import { FolderLock } from "./folder-lock.ts";
import { RecordedEvent } from "./recorded-event.ts";
import { attachmentsOf, recorderSettings } from "./recorder-options.ts";
import type { RecordOptions, RecorderOptions, RecorderSettings } from "./recorder-options.ts";
import { Spool } from "./spool.ts";
import type { RecoveredEvent } from "./spool.ts";

const ID_BYTES = 16;
const SALT_BYTES = 32;
const CONTENT_BYTES_MAX = 16 * 1024 * 1024;
const NO_FIELDS = Buffer.from("{}");
const DAY_CHARS = "2026-11-23".length;
const ZEROS = new Uint8Array(32);
/** Random bytes are drawn for many events at once: a call for each costs more than the hash. */
const POOL = Buffer.alloc(4096);
let drawn = POOL.length;

function randomHex(length: number): string {
  if (drawn + length > POOL.length) {
    randomFillSync(POOL);
    drawn = 0;
  }
  drawn += length;
  return POOL.toString("hex", drawn - length, drawn);
}

/**
 * Records what happens: writes it down as an envelope, keeps it on disk before `record` returns, anchors it with
 * others, and keeps envelope and receipt side by side. docs/recorder.md.
 *
 *     const recorder = await Recorder.open({ client, directory: "audit" });
 *     recorder.record({ order: "4711", amount: 19.5 }, { what: "refund" });
 *     await recorder.close();
 */
export class Recorder {
  readonly #settings: RecorderSettings;
  readonly #lock: FolderLock;
  readonly #spool: Spool;
  readonly #delivery: Delivery;
  readonly #beforeExit: () => void;
  /** What the request says of an event that has no references of its own: most have none. */
  readonly #usualFields: string | null;
  #isClosed = false;

  private constructor(settings: RecorderSettings, lock: FolderLock, firstMade: string | undefined) {
    const { directory, files, spoolBytesMax, exitFlushMs } = settings;
    this.#settings = settings;
    this.#lock = lock;
    this.#usualFields = this.#fieldsOf(settings.semanticAnchor);
    const { spool, events } = Spool.open(join(directory, "spool"), files, spoolBytesMax, firstMade);
    this.#spool = spool;
    this.#delivery = new Delivery(settings, spool);
    for (const recovered of events) this.#recover(recovered);
    this.#beforeExit = () => {
      if (exitFlushMs > 0)
        this.close({ timeoutMs: exitFlushMs }).catch((error: unknown) => this.#delivery.report(error));
    };
    process.once("beforeExit", this.#beforeExit);
  }

  /**
   * Takes the folder, and begins to send what an earlier run has left.
   * @throws InvalidInput, FolderInUse, SpoolCorrupt; a system error if the folder cannot be made
   */
  static open(options: RecorderOptions): Promise<Recorder> {
    return new Promise((resolve) => {
      const settings = recorderSettings(options);
      const firstMade = mkdirSync(settings.directory, { recursive: true, mode: FOLDER_MODE });
      const lock = FolderLock.take(settings.directory);
      try {
        resolve(new Recorder(settings, lock, firstMade));
      } catch (error) {
        lock.release();
        throw error;
      }
    });
  }

  /**
   * Records an event. It survives the end of the process from then on.
   * @param content any JSON value; or bytes, which are kept beside the envelope
   * @throws InvalidInput, SpoolFull, SpoolWriteFailed: nothing was recorded
   */
  record(content: JsonContent | Uint8Array, options: RecordOptions): RecordedEvent {
    if (!(content instanceof Uint8Array)) return this.#record({ json: content }, null, options);
    if (content.length > CONTENT_BYTES_MAX) {
      throw new InvalidInput(
        "content",
        `over ${CONTENT_BYTES_MAX} bytes: keep it yourself, and give recordHash its hash`,
      );
    }
    const hash = createHash("sha256").update(content).digest("hex");
    return this.#record({ hash, size: content.length }, content, options);
  }

  /** The same for a content that you keep yourself, by its SHA-256 and its number of bytes. */
  recordHash(hash: Bytes32, size: number, options: RecordOptions): RecordedEvent {
    return this.#record({ hash: hex32("hash", hash), size }, null, options);
  }

  /** Resolves when there is room in the spool again, for the event that was refused last and some more. */
  room(): Promise<void> {
    return this.#delivery.room();
  }

  /**
   * Resolves when all that was recorded before the call is anchored and kept, or refused. What waits for another try is
   * sent at once.
   * @throws NotFlushed
   */
  flush({ timeoutMs = 60_000 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    return this.#delivery.flush(timeoutMs);
  }

  /**
   * Flushes, and lets go of the folder, also if not all is anchored in time: that is sent by the next one who opens it.
   * @returns how many events are left
   */
  async close({ timeoutMs = 10_000 }: { readonly timeoutMs?: number } = {}): Promise<{ readonly left: number }> {
    if (this.#isClosed) return { left: 0 };
    this.#isClosed = true;
    process.removeListener("beforeExit", this.#beforeExit);
    try {
      await this.#delivery.flush(timeoutMs);
    } catch (error) {
      if (!(error instanceof NotFlushed)) throw error;
    } finally {
      await this.#delivery.stop();
      await this.#spool.close();
      for (const fault of this.#spool.takeFaults()) this.#delivery.report(fault);
      this.#lock.release();
    }
    return { left: this.#delivery.left };
  }

  #record(content: Envelope["content"], bytes: Uint8Array | null, options: RecordOptions): RecordedEvent {
    if (this.#isClosed) throw new InvalidInput("recorder", "it is closed");
    const when = whenOf(options.when);
    const envelope = this.#envelopeOf(content, when, options);
    const id = idOf(options.clientEventId);
    const eventHash = createHash("sha256").update(envelope).digest();
    const own = options.semanticAnchor ?? null;
    const fields = own === null ? this.#usualFields : this.#fieldsOf(own);
    const place = this.#spool.append({
      id: Buffer.from(id, "hex"),
      content: bytes,
      fields: fields === null ? NO_FIELDS : Buffer.from(fields),
      envelope: Buffer.from(envelope),
    });
    const handle = new RecordedEvent(id, eventHash.toString("hex"), () => this.#spool.whenDurable(place));
    this.#delivery.add({ handle, eventHash, day: when.slice(0, DAY_CHARS), fields, place });
    return handle;
  }

  #envelopeOf(content: Envelope["content"], when: string, options: RecordOptions): string {
    const { what, who, contentType, attachments, salt } = options;
    const usual = "json" in content ? "application/json" : "application/octet-stream";
    try {
      return formatEnvelope({
        what,
        when,
        who: who ?? this.#settings.who,
        contentType: contentType ?? usual,
        content,
        attachments: attachments === undefined ? [] : attachmentsOf(attachments),
        salt: saltOf(salt ?? this.#settings.salt),
      });
    } catch (error) {
      if (error instanceof EnvelopeError) throw new AnchoringError(error.code, error.message, { cause: error });
      throw error;
    }
  }

  /** What the request says beside the hash; null: nothing. @throws InvalidInput */
  #fieldsOf(semanticAnchor: SemanticAnchorInput | null): string | null {
    const actorPublicKey = this.#settings.actorSigner?.publicKey ?? null;
    const prepared = prepareEventAnchor({ originFingerprint: ZEROS, eventHash: ZEROS, semanticAnchor, actorPublicKey });
    return fieldsOf(prepared.unsigned);
  }

  #recover({ event, place }: RecoveredEvent): void {
    const { when } = parseEnvelope(Uint8Array.from(event.envelope));
    const eventHash = createHash("sha256").update(event.envelope).digest();
    const id = bytesToHex(event.id);
    const handle = new RecordedEvent(id, eventHash.toString("hex"), () => this.#spool.whenDurable(place));
    const text = Buffer.from(event.fields).toString();
    const fields = text === "{}" ? null : text;
    this.#delivery.add({ handle, eventHash, day: when.slice(0, DAY_CHARS), fields, place });
  }
}

/** @throws InvalidInput */
function whenOf(when: Date | string | undefined): string {
  if (typeof when === "string") return when;
  const date = when ?? new Date();
  if (Number.isNaN(date.getTime())) throw new InvalidInput("when", "is no time");
  return date.toISOString();
}

/** Null: none. @throws InvalidInput */
function saltOf(given: boolean | Bytes32): string | null {
  if (typeof given !== "boolean") return hex32("salt", given);
  return given ? randomHex(SALT_BYTES) : null;
}

/** 32 lower-case hex digits. @throws InvalidInput */
function idOf(given: Uint8Array | string | undefined): string {
  if (given === undefined) return randomHex(ID_BYTES);
  if (given instanceof Uint8Array && given.length === ID_BYTES) return bytesToHex(given);
  if (typeof given === "string" && /^[0-9a-fA-F]{32}$/.test(given)) return given.toLowerCase();
  throw new InvalidInput("clientEventId", `expected ${ID_BYTES} bytes or ${ID_BYTES * 2} hex digits`);
}
