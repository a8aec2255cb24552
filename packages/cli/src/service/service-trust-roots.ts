import { VerificationError, extendTrustRoot, readers } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { Service } from "./service.ts";

const readDocuments = readers.record({ chain: readers.listOf(readers.record({ document: readers.text })) });

/**
 * The service's trust roots, checked against the one that is trusted here: they begin with it and may continue.
 * @returns from the pin that is held to the newest version of the service
 * @throws CliError `invalid`: they are of another cluster, or older than what is held
 */
export async function fetchTrustRoots(service: Service, held: TrustRootChain): Promise<TrustRootChain> {
  const { chain } = await service.read({ path: "/v1/trust-root" }, readDocuments);
  try {
    return extendTrustRoot(held, chain);
  } catch (error) {
    throw error instanceof VerificationError ? foreignTrustRoots(error) : error;
  }
}

export function foreignTrustRoots({ code, message }: VerificationError): CliError {
  const text = `the service's trust roots do not follow from the one held here: ${message} (${code})`;
  return new CliError(EXIT.invalid, code, text);
}
