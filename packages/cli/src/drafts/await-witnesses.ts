/** `--witnessed`: a receipt that as many witnesses have cosigned as the newest trust root held here asks for. */
import { setTimeout as delay } from "node:timers/promises";
import { bytesToHex } from "@event-anchoring/protocol";
import type { StatedReceipt } from "@event-anchoring/protocol";
import { heldTrustRootsOf } from "../reports/check-receipt.ts";
import type { CheckedReceipt, TrustOptions } from "../reports/check-receipt.ts";
import type { Question, Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";
import { fetchReceipt } from "./fetch-receipt.ts";

/** What the service takes at most in `Prefer: wait=`. */
const WAIT_S_MAX = 30;
/** This part of the time is left for the way there and back. */
const MARGIN_S = 2;
/** A service that answers at once, and not what is wanted, is not asked without a pause. */
const PAUSE_MS = 500;

/** Until when a command waits for witnesses. */
export class WitnessDemand {
  readonly #endMs: number;

  /** Begins to wait. @throws CliError if nothing can be witnessed by the trust roots held here */
  constructor(trust: TrustOptions, timeoutMs: number) {
    assertWitnesses(trust);
    this.#endMs = performance.now() + timeoutMs;
  }

  /** Seconds that the service may wait now; null: it is over. */
  secondsLeft(): number | null {
    const left = Math.floor((this.#endMs - performance.now()) / 1000) - MARGIN_S;
    return left < 1 ? null : Math.min(left, WAIT_S_MAX);
  }
}

/** @throws CliError `trust_root_missing`, `no_witnesses` */
function assertWitnesses(trust: TrustOptions): void {
  const held = heldTrustRootsOf(trust);
  if (held === null) {
    const message = "--witnessed counts witnesses by a trust root, and there is none here: give --trust-root";
    throw new CliError(EXIT.usage, "trust_root_missing", message);
  }
  const { witnesses, version } = held.chain.newest.trustRoot;
  if (witnesses.length > 0) return;
  const message = `trust root ${version}, the newest one held here, lists no witness; anchorctl root fetch updates it`;
  throw new CliError(EXIT.invalid, "no_witnesses", message);
}

/** For a question: how long the service may wait. */
export function witnessedWithin(demand: WitnessDemand | null): Pick<Question, "witnessedWithinS"> {
  const witnessedWithinS = demand?.secondsLeft() ?? null;
  return witnessedWithinS === null ? {} : { witnessedWithinS };
}

/** A receipt as it was sent, and what became of it here. */
export interface JudgedReceipt {
  readonly stated: StatedReceipt;
  /** Null: there is no trust root here to judge it by. */
  readonly checked: CheckedReceipt | null;
}

/** Whether what was demanded is missing. */
export function isUnwitnessed({ checked }: JudgedReceipt, demand: WitnessDemand | null): boolean {
  return demand !== null && checked?.verification.witnessed !== true;
}

/**
 * The receipt as it came or, if witnesses are demanded, the first one that enough of them have cosigned. When the time
 * is over, the newest one all the same.
 */
export async function awaitWitnesses(
  first: JudgedReceipt,
  demand: WitnessDemand | null,
  service: Service,
  judge: (stated: StatedReceipt) => CheckedReceipt | null,
): Promise<JudgedReceipt> {
  let newest = first;
  while (isUnwitnessed(newest, demand)) {
    const asked = witnessedWithin(demand);
    if (asked.witnessedWithinS === undefined) break;
    try {
      const stated = await fetchReceipt(service, bytesToHex(first.stated.anchorId), asked);
      newest = { stated, checked: judge(stated) };
    } catch (error) {
      // What is certified is in our hands already.
      if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    }
    if (isUnwitnessed(newest, demand)) await delay(PAUSE_MS);
  }
  return newest;
}

/** @param again arguments with which `receipt` asks for the same one */
export function printUnwitnessed(printer: Printer, again: readonly string[]): void {
  const ask = printer.next("receipt", ...again, "--witnessed");
  printer.verdict("warn", `Certified, and not witnessed in time. Ask again: ${ask}`);
}
