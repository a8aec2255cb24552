/** What a committed command means: pure decisions over loaded facts. */
export { LIMITS } from "./entry/limits.ts";
export { SCOPES } from "./entry/command.ts";
export type {
  Certificate,
  ClaimInput,
  Command,
  Cosignature,
  CreateApiKeyCommand,
  Credential,
  EraseClientEventCommand,
  Entry,
  EventInput,
  GrantInput,
  GroupId,
  OperatorAct,
  OperatorActCommand,
  OperatorCommand,
  ProposalGroup,
  RecordClaimCommand,
  RecordEventsCommand,
  RecordGrantCommand,
  RecordRevocationCommand,
  RevocationInput,
  Scope,
  Signer,
} from "./entry/command.ts";
export { decodeCommand, encodeCommand, isOperatorCommand } from "./entry/command-codec.ts";
export { scopesFromBits, scopesToBits } from "./entry/api-key-codec.ts";
export {
  decodeEntry,
  decodeGroup,
  decodeGroupId,
  encodeEntry,
  encodeGroup,
  encodeGroupId,
  encodedGroups,
} from "./entry/entry-codec.ts";
export {
  fitsEntry,
  mayAppendLeaf,
  needsCertifyPoint,
  packEntry,
  sharesGroup,
  waitingGroupOf,
  weightOf,
} from "./entry/pack-entry.ts";
export type { Purpose, WaitingGroup, Weight } from "./entry/pack-entry.ts";
export { RELEASE_RULES, RULES_FIRST, RuleTable } from "./entry/rules.ts";
export type { Rules } from "./entry/rules.ts";
export { LedgerHaltError } from "./entry/halt.ts";
export { REJECTION_CODES } from "./decide/rejection.ts";
export type { Rejection, RejectionCode } from "./decide/rejection.ts";
export { apiKeyIdOf, isLiveApiKey, keyIdHex } from "./state/api-key.ts";
export type { ApiKey } from "./state/api-key.ts";
export { NO_FACTS, asksNothing, clientEventKey, factsNeeded } from "./decide/facts.ts";
export type {
  ClientEventFact,
  ContentFact,
  Facts,
  FactsQuery,
  FoundAnchor,
  GrantPartiesQuery,
} from "./decide/facts.ts";
export { contentHashOfRecord, eventContentHash } from "./decide/content-hash.ts";
export { operatorActMessage, usedCounterIn, usedCounterText } from "./entry/operator-act.ts";
export type { ActPlace } from "./entry/operator-act.ts";
export { signaturesOf } from "./entry/command-signatures.ts";
export { TileAccumulator, openTileWidth, tileLevelsAt } from "./state/tile-accumulator.ts";
export type { CompletedTile } from "./state/tile-accumulator.ts";
export { LeafWalk, judgingVersion } from "./walk/leaf-walk.ts";
export type { LeafFault, WalkedLeaf, WalkedOrigin } from "./walk/leaf-walk.ts";
export type { DecidedGroupId } from "./state/group-id-memory.ts";
export { emptyLedgerState, judgingTrustRoot, trustRootsOf } from "./state/state.ts";
export type { CertifiedHead, LedgerState, OriginState, TrustRootPosition } from "./state/state.ts";
export { EMPTY_STORED_LEDGER, restoreLedgerState } from "./state/stored-ledger.ts";
export type { StoredLedger, StoredOrigin, StoredTrustRoot } from "./state/stored-ledger.ts";
export type {
  CertificateWrite,
  ClientEventWrite,
  CommandOutcome,
  ContentWrite,
  EntryDecision,
  EntryWrites,
  RecordOutcome,
  LeafWrite,
  RevocationWrite,
  TileWrite,
} from "./decide/decision.ts";
export { decideEntry } from "./decide/decide.ts";
export { advance } from "./decide/advance.ts";
export {
  apiKeyEntry,
  claimEntry,
  erasureEntry,
  grantEntry,
  lineageEntry,
  operatorEntry,
  stateEntriesOf,
  stateLeafOf,
} from "./state-tree/state-entries.ts";
export type { StateEntry, StateWrites } from "./state-tree/state-entries.ts";
export { stateHeadOf } from "./state-tree/state-head-of.ts";
export {
  CLIENT_EVENT_PREFIX_BYTES,
  clientEventLookup,
  nextClientEventsHash,
  nextGroupIdsHash,
} from "./decide/running-hash.ts";
export type { ClientEventMark } from "./decide/running-hash.ts";
export { StatePage } from "./state-tree/state-page.ts";
export type { StateSlot } from "./state-tree/state-page.ts";
export { StatePagesMissing, proveState, stateRootOf, updateStateTree } from "./state-tree/state-pages.ts";
export type { StateTreeUpdate } from "./state-tree/state-pages.ts";
