import { join } from "node:path";
import { AnchoringError, verifyReceipt } from "@event-anchoring/sdk";
import { Recorder, SpoolFull } from "@event-anchoring/sdk/recorder";
import type { RecordedEvent, RecorderProgress } from "@event-anchoring/sdk/recorder";
import type { Act } from "../drafts/event-act.ts";
import { asCliError } from "../files/read-input.ts";
import { apiKeyOf } from "../files/target.ts";
import type { Target } from "../files/target.ts";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { TrustOptions } from "../reports/check-receipt.ts";
import { Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Progress } from "../terminal/progress.ts";

/** What `record` and `tail` say of every event. */
export interface RecordingOptions {
  readonly what: string;
  readonly who: string | null;
  readonly contentType: string | null;
  readonly isSalted: boolean;
  /** The recorder's folder. */
  readonly folder: string;
  readonly act: Act;
  readonly timeoutMs: number;
  readonly trust: TrustOptions;
  readonly isJson: boolean;
}

/** What makes an event that is recorded again the same. */
interface EventIdentity {
  readonly when?: string;
  readonly clientEventId?: string;
  /** That of its envelope, if envelopes get one. */
  readonly salt?: string;
}

/** A recorder in a folder, whose receipts are verified before they are kept, if there is a trust root. */
export class Recording {
  readonly recorder: Recorder;
  readonly #options: RecordingOptions;
  readonly #counts: { progress: RecorderProgress };

  private constructor(recorder: Recorder, options: RecordingOptions, counts: { progress: RecorderProgress }) {
    this.recorder = recorder;
    this.#options = options;
    this.#counts = counts;
  }

  /** @throws CliError: the folder is in use, or cannot be read; its spool is spoiled */
  static async open(options: RecordingOptions, target: Target, progress: Progress): Promise<Recording> {
    const { apiUrls, onWait } = target;
    const service = new Service({ apiUrls, apiKey: apiKeyOf(target), timeoutMs: options.timeoutMs, onWait });
    const trustRoot = heldTrustRootsOf(options.trust)?.chain ?? null;
    const counts = { progress: { recorded: 0, durable: 0, anchored: 0, refused: 0 } };
    const sender: Parameters<typeof Recorder.open>[0]["client"] = {
      createEventAnchors: async (events, batch) => {
        const answer = await service.client.createEventAnchors(events, batch);
        for (const { receipt } of answer.results) {
          if (receipt !== null && trustRoot !== null) verifyReceipt(receipt, { trustRoot, anchorId: receipt.anchorId });
        }
        return answer;
      },
    };
    try {
      const recorder = await Recorder.open({
        client: sender,
        directory: options.folder,
        semanticAnchor: options.act.semanticAnchor,
        actorSigner: options.act.actor === null ? undefined : signerOf(options.act.actor),
        salt: options.isSalted,
        who: options.who ?? undefined,
        exitFlushMs: 0,
        onError: ({ message }) => progress.line(message),
        onProgress: (told) => {
          counts.progress = told;
          progress.say(`anchored ${told.anchored} of ${told.recorded} events`);
        },
      });
      return new Recording(recorder, options, counts);
    } catch (error) {
      throw asUsage(options.folder, error);
    }
  }

  /** Where envelopes and receipts are. */
  get kept(): string {
    return join(this.#options.folder, "kept");
  }

  get counts(): RecorderProgress {
    return this.#counts.progress;
  }

  /** Records as soon as the spool has room. @throws CliError */
  record(content: unknown, more: EventIdentity = {}): Promise<RecordedEvent> {
    return this.#whenRoom(() => this.recorder.record(content as string, { ...this.#said, ...this.#identity(more) }));
  }

  /** The same for a content that is kept elsewhere, by its SHA-256 and its number of bytes. @throws CliError */
  recordHash(hash: string, size: number): Promise<RecordedEvent> {
    return this.#whenRoom(() => this.recorder.recordHash(hash, size, this.#said));
  }

  /**
   * A line of JSON, or of anything else: that is kept as bytes, so that no line is lost.
   * @returns null for an empty line
   */
  async recordLine(line: Uint8Array, more: EventIdentity = {}): Promise<RecordedEvent | null> {
    const text = Buffer.from(line.buffer, line.byteOffset, line.length).toString("utf8");
    if (text.trim() === "") return null;
    const value = jsonOf(text);
    try {
      if (value !== undefined) return await this.record(value, more);
    } catch (error) {
      if (!(error instanceof CliError) || !error.code.startsWith("envelope_")) throw error;
    }
    const said = { contentType: "text/plain", ...this.#said, ...this.#identity(more) };
    return this.#whenRoom(() => this.recorder.record(line, said));
  }

  /** Without the salt, if envelopes have none. */
  #identity({ salt, ...more }: EventIdentity): EventIdentity {
    return this.#options.isSalted && salt !== undefined ? { ...more, salt } : more;
  }

  /** What every event says. */
  get #said(): { what: string; contentType?: string } {
    const { what, contentType } = this.#options;
    return contentType === null ? { what } : { what, contentType };
  }

  /** @throws CliError: it cannot be recorded, also with room */
  async #whenRoom(record: () => RecordedEvent): Promise<RecordedEvent> {
    for (;;) {
      try {
        return record();
      } catch (error) {
        if (!(error instanceof SpoolFull)) throw asUsage(this.#options.folder, error);
        await this.recorder.room();
      }
    }
  }

  /** Waits for what was recorded. @returns how many are left for the next run */
  async close(): Promise<number> {
    const { left } = await this.recorder.close({ timeoutMs: this.#options.timeoutMs });
    return left;
  }
}

type SignerOfSdk = NonNullable<Parameters<typeof Recorder.open>[0]["actorSigner"]>;

function signerOf(actor: NonNullable<Act["actor"]>): SignerOfSdk {
  return { publicKey: actor.publicKey, sign: (payload) => Promise.resolve(actor.sign(payload)) };
}

/** undefined: it is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function asUsage(folder: string, error: unknown): unknown {
  if (error instanceof AnchoringError) return new CliError(EXIT.usage, error.code, error.message, error);
  return asCliError(folder, "write", error);
}
