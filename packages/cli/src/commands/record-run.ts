import type { TrustOptions } from "../reports/check-receipt.ts";
import type { Printer } from "../terminal/printer.ts";
import type { Service } from "../service/service.ts";

/** What every command that records something is run with. */
export interface RecordRun {
  readonly service: Service;
  readonly trust: TrustOptions;
  /** Where the receipt goes; null: nowhere. */
  readonly out: string | null;
  /** How long to wait for a receipt that enough witnesses have cosigned; null: not at all. */
  readonly witnessedMs: number | null;
  readonly isJson: boolean;
  readonly workingDir: string;
  readonly printer: Printer;
}
