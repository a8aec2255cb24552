/** What the service shows without a key: its limits, and the trust roots that it works under. */
import { limitsToJson } from "@event-anchoring/api-contract";
import type { TrustRootAnswer } from "@event-anchoring/api-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { SignedTrustRoot } from "@event-anchoring/protocol";
import { ConsistentRead } from "../reading/consistent-read.ts";
import { cacheHeaders } from "./cache-rules.ts";
import type { Handler } from "./handler.ts";

/** GET /v1/limits */
export const getLimits: Handler = async (_request, { limits }) => ({ status: 200, json: limitsToJson(limits) });

function versionJson(signed: SignedTrustRoot) {
  return {
    version: signed.trustRoot.version,
    root_thk: bytesToHex(signed.rootThk),
    document: signed.note,
  };
}

/** The chain authenticates itself from the version a client has pinned, so it needs no key. */
export const getTrustRoot: Handler = async (request, dependencies) => {
  const read = await ConsistentRead.begin(dependencies, "none", request.deadline);
  const { versions, newest } = await dependencies.trustRoots.chain(read);
  const json: TrustRootAnswer = { ...versionJson(newest), chain: versions.map(versionJson) };
  return { status: 200, json, headers: cacheHeaders("trustRoot", request) };
};
