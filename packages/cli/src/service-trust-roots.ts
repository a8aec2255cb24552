import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { countAt, listAt, textAt } from "./answer-fields.ts";
import { CliError, EXIT } from "./cli-error.ts";
import { expectStatus } from "./service.ts";
import type { Service } from "./service.ts";

export interface ServiceTrustRoots {
  /** From the pin that is held to the newest version of the service. */
  readonly chain: TrustRootChain;
  /** Signed documents, oldest first. */
  readonly documents: readonly string[];
}

/**
 * The service's trust roots, held against the one that is trusted here: they begin with it and may go on.
 * @throws CliError `invalid`: they are of another cluster, or older than what is held
 */
export async function fetchTrustRoots(service: Service, held: TrustRootChain): Promise<ServiceTrustRoots> {
  const { body } = expectStatus(await service.ask({ method: "GET", path: "/v1/trust-root" }), 200);
  const versions = listAt(body, "chain", (item) => ({
    version: countAt(item, "version"),
    document: textAt(item, "document"),
  }));
  const [first] = held.versions;
  const pinnedRootThk = first?.rootThk ?? held.newest.rootThk;
  const start = first?.trustRoot.version ?? 1;
  const documents = versions.filter(({ version }) => version >= start).map(({ document }) => document);
  const verification = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verification.result === "refused") {
    const message = `the service's trust roots do not follow from the one held here: ${verification.detail}`;
    throw new CliError(EXIT.invalid, verification.code, `${message} (${verification.code})`);
  }
  const { chain } = verification;
  const heldVersion = held.newest.trustRoot.version;
  const same = chain.versions.find(({ trustRoot }) => trustRoot.version === heldVersion);
  if (same === undefined) throw new CliError(EXIT.invalid, "rollback", `the service has no trust root ${heldVersion}`);
  if (bytesToHex(same.rootThk) !== bytesToHex(held.newest.rootThk)) {
    throw new CliError(
      EXIT.invalid,
      "fork",
      `the service has another trust root ${heldVersion} than the one held here`,
    );
  }
  return { chain, documents };
}
