/** Genesis and the versions of the trust root after it. */
import {
  LEAF_KIND,
  NoteError,
  TrustRootError,
  equalBytes,
  extendTrustRootChain,
  parseSignedTrustRoot,
  verifyTrustRootChain,
} from "@event-anchoring/protocol";
import type { SignedTrustRoot, TrustRootChain, TrustRootVerification } from "@event-anchoring/protocol";
import type { GenesisCommand, TrustRootCommand } from "../entry/command.ts";
import type { DecisionDraft } from "./decision-draft.ts";
import type { CommandOutcome } from "./decision.ts";
import { reject } from "./rejection.ts";
import type { Rejection } from "./rejection.ts";

function rejected(rejection: Rejection): CommandOutcome {
  return { kind: "rejected", rejection };
}

function notAlone(): CommandOutcome {
  return rejected(reject("not_alone", "a trust-root version shares its entry with nothing"));
}

/** The document, or why it cannot be read. */
function parseDocument(document: string, draft: DecisionDraft): SignedTrustRoot | Rejection {
  try {
    return parseSignedTrustRoot(document, draft.crypto.sha256);
  } catch (error) {
    if (error instanceof TrustRootError || error instanceof NoteError)
      return reject("trust_root_invalid", `${error.code}: ${error.message}`, "/document");
    throw error;
  }
}

function chainOrRejection(verification: TrustRootVerification): TrustRootChain | Rejection {
  if (verification.result === "verified") return verification.chain;
  return reject("trust_root_invalid", `${verification.code}: ${verification.detail}`, "/document");
}

/**
 * Appends one leaf to every origin that is not lost, ascending by fingerprint: a genesis leaf where the origin is new,
 * a trust-root leaf elsewhere.
 */
function admit(chain: TrustRootChain, draft: DecisionDraft): CommandOutcome {
  const { trustRoot, rootThk, note } = chain.newest;
  const { version, clusterId } = trustRoot;
  draft.trustRootChain = chain;
  draft.addTrustRoot({ version, rootThk, document: note, sequence: draft.nextSequence });
  // The document's canonical text lists origins ascending by fingerprint.
  for (const { originFingerprint, status } of trustRoot.origins) {
    const origin = draft.setOriginStatus(originFingerprint, status);
    if (status === "lost") continue;
    draft.append(origin, (header) =>
      origin.tree.size === 0
        ? { kind: LEAF_KIND.genesis, ...header, clusterId, rootThk }
        : { kind: LEAF_KIND.trustRoot, ...header, version, rootThk },
    );
  }
  return { kind: "applied" };
}

/** The first genesis that is applied counts; a later one changes nothing. */
export function decideGenesis(command: GenesisCommand, isAlone: boolean, draft: DecisionDraft): CommandOutcome {
  if (draft.isInitialised) return { kind: "unchanged" };
  if (!isAlone) return notAlone();
  const parsed = parseDocument(command.document, draft);
  if ("code" in parsed) return rejected(parsed);
  const { trustRoot, rootThk } = parsed;
  if (trustRoot.version !== 1)
    return rejected(reject("trust_root_invalid", `genesis has version 1, not ${trustRoot.version}`, "/document"));
  if (trustRoot.origins.some(({ status }) => status !== "active"))
    return rejected(reject("trust_root_invalid", "an origin is first listed as active", "/document"));
  const input = { documents: [command.document], pinnedRootThk: rootThk };
  const chain = chainOrRejection(verifyTrustRootChain(input, draft.crypto));
  return "code" in chain ? rejected(chain) : admit(chain, draft);
}

/** Version N + 1, signed by the thresholds of N and of N + 1. Proposed again once applied, it changes nothing. */
export function decideTrustRoot(command: TrustRootCommand, isAlone: boolean, draft: DecisionDraft): CommandOutcome {
  const before = draft.trustRootChain ?? draft.state.trustRootChain;
  if (before === null) return rejected(reject("not_initialised", "no genesis is applied yet"));
  const parsed = parseDocument(command.document, draft);
  if (!("code" in parsed) && equalBytes(parsed.rootThk, before.newest.rootThk)) return { kind: "unchanged" };
  if (!isAlone) return notAlone();
  if ("code" in parsed) return rejected(parsed);
  const chain = chainOrRejection(extendTrustRootChain(before, command.document, draft.crypto));
  return "code" in chain ? rejected(chain) : admit(chain, draft);
}
