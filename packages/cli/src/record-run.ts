import type { TrustOptions } from "./check-receipt.ts";
import type { Printer } from "./printer.ts";
import type { Service } from "./service.ts";

/** What every command that records something is run with. */
export interface RecordRun {
  readonly service: Service;
  readonly trust: TrustOptions;
  /** Where the receipt goes; null: nowhere. */
  readonly out: string | null;
  readonly isJson: boolean;
  readonly workingDir: string;
  readonly printer: Printer;
}
