/** What a recorder throws beside the errors of the client. */
import { nameClass } from "../class-names.ts";
import { AnchoringError } from "../errors.ts";
import type { ErrorContext } from "../errors.ts";

/** The spool holds as much as `spoolBytesMax` allows: nothing was recorded. `room()` waits until there is some. */
export class SpoolFull extends AnchoringError {
  static {
    nameClass(this, "SpoolFull");
  }

  constructor(bytesMax: number) {
    super("spool_full", `${bytesMax} bytes wait to be anchored: wait for room(), or record less`);
  }
}

/**
 * The spool could not be written: the disk is full, say. Thrown by `record`, nothing was recorded. From `durable` it
 * means that the event is recorded and may be lost with the power until it is kept.
 */
export class SpoolWriteFailed extends AnchoringError {
  static {
    nameClass(this, "SpoolWriteFailed");
  }

  constructor(message: string, context: ErrorContext) {
    super("spool_write_failed", message, context);
  }
}

/** A file of the spool that no recorder has written like this. Nothing of it is sent, and nothing is deleted. */
export class SpoolCorrupt extends AnchoringError {
  static {
    nameClass(this, "SpoolCorrupt");
  }

  /** Where the frame begins that is spoiled. */
  readonly offset: number;

  constructor(offset: number, what: string, file = "the spool") {
    super("spool_corrupt", `${file}: ${what} at offset ${offset}`);
    this.offset = offset;
  }
}

/** Another recorder uses the folder. */
export class FolderInUse extends AnchoringError {
  static {
    nameClass(this, "FolderInUse");
  }

  /** Id of its process. */
  readonly pid: number;

  constructor(folder: string, pid: number) {
    super("folder_in_use", `process ${pid} records in ${folder}: one recorder for a folder at a time`);
    this.pid = pid;
  }
}

/** The service refuses an event for good. It is in the folder `refused`. */
export class EventRefused extends AnchoringError {
  static {
    nameClass(this, "EventRefused");
  }

  readonly clientEventId: string;
  /** HTTP status that it would have got alone. */
  readonly status: number;

  constructor(code: string, detail: string, clientEventId: string, status: number) {
    super(code, `event ${clientEventId} is refused: ${detail}`);
    this.clientEventId = clientEventId;
    this.status = status;
  }
}

/** `flush` or `close` has waited as long as it may. What is left stays in the spool. */
export class NotFlushed extends AnchoringError {
  static {
    nameClass(this, "NotFlushed");
  }

  /** Events that are not anchored yet. */
  readonly left: number;

  constructor(left: number, timeoutMs: number) {
    super("not_flushed", `${left} events are not anchored after ${timeoutMs} ms; they stay in the spool`);
    this.left = left;
  }
}
