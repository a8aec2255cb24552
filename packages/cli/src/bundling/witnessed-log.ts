/** `bundle --witnessed`: a log read at a head that enough witnesses have signed. */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { anchorIdOf, bytesToHex } from "@event-anchoring/protocol";
import type { StatedReceipt } from "@event-anchoring/protocol";
import { awaitWitnesses, isUnwitnessed, witnessedWithin } from "../drafts/await-witnesses.ts";
import type { WitnessDemand } from "../drafts/await-witnesses.ts";
import { fetchReceipt } from "../drafts/fetch-receipt.ts";
import { judgeReceipt } from "../reports/check-receipt.ts";
import type { CheckedReceipt } from "../reports/check-receipt.ts";
import type { HeldTrustRoots } from "../files/trust-roots.ts";
import type { Service } from "../service/service.ts";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { LogReader } from "./log-reader.ts";

/**
 * The newest head of a busy log is rarely witnessed yet, so the log is read at the head of a witnessed receipt of its
 * last leaf: that head covers all that the given one covers.
 *
 * @throws CliError `not_witnessed` if there is none in time
 */
export async function atWitnessedHead(
  log: LogReader,
  service: Service,
  { held, demand }: { readonly held: HeldTrustRoots; readonly demand: WitnessDemand },
): Promise<LogReader> {
  const anchorId = anchorIdOf(await log.leafAt(log.treeSize - 1), nodeCrypto.sha256);
  const judge = (stated: StatedReceipt): CheckedReceipt => {
    return { held, verification: judgeReceipt(stated, { anchorId }, held.chain) };
  };
  const stated = await fetchReceipt(service, bytesToHex(anchorId), witnessedWithin(demand));
  const newest = await awaitWitnesses({ stated, checked: judge(stated) }, demand, service, judge);
  if (isUnwitnessed(newest, demand)) {
    const message = `no head of ${log.originFingerprint} was witnessed in time: ask again, or wait longer (--timeout)`;
    throw new CliError(EXIT.unavailable, "not_witnessed", message);
  }
  return log.at(newest.stated.receipt.checkpoint);
}
