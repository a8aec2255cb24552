/** Evidence bundles, scope documents, envelopes and files of names: their formats, and their verification offline. */
export { BUNDLE_FORMAT, BUNDLE_LIMITS, bundleToJson, formatBundle } from "./format/bundle.ts";
export type { Bundle } from "./format/bundle.ts";
export { BundleError } from "./format/bundle-error.ts";
export type { BundleJson } from "./json/strict-json.ts";
export { parseBundle } from "./format/parse-bundle.ts";
export type { ProvedScope } from "./verify/proved-scopes.ts";
export { BUNDLE_CHECKS, verifyBundle } from "./verify/verify-bundle.ts";
export type { BundleCheckCode, BundleOutcome, BundleVerification } from "./verify/verify-bundle.ts";
export { assembleBundle, completeUpTo, subtreesForPart, wantedOfTrace } from "./format/assemble-bundle.ts";
export type { OriginPart, TracedAnchor, WantedOfTrace } from "./format/assemble-bundle.ts";
export {
  assembleStateBundle,
  leavesOfStateBundle,
  recordsOfStateBundle,
  stateValueOf,
} from "./format/assemble-state-bundle.ts";
export type { StateBundleSubject } from "./format/assemble-state-bundle.ts";
export { verifyCheckpoint } from "./verify/verify-checkpoint.ts";
export { SCOPE_FORMAT, discloseScope, formatScope, makeScope, scopeJson, verifyScope } from "./scope/scope.ts";
export type { Scope } from "./scope/scope.ts";
export { ScopeError } from "./scope/scope-error.ts";
export { addScopes } from "./format/add-scopes.ts";
export { parseScope, parseStatements } from "./scope/parse-scope.ts";
export { SCOPE_LIMITS } from "./scope/statement.ts";
export type { ScopeValue } from "./scope/statement.ts";
export { NamesError } from "./names/names-error.ts";
export { NAMES_LIMITS, looksLikeNames, parseNames } from "./names/parse-names.ts";
export type { NameFile } from "./names/parse-names.ts";
export { EnvelopeError } from "./envelope/envelope-error.ts";
export { ENVELOPE_FORMAT, ENVELOPE_LIMITS } from "./envelope/envelope.ts";
export type { Envelope, EnvelopeAttachment } from "./envelope/envelope.ts";
export type { JsonContent } from "./envelope/content-json.ts";
export { formatEnvelope } from "./envelope/format-envelope.ts";
export { parseEnvelope } from "./envelope/parse-envelope.ts";
export { readEnvelope } from "./envelope/read-envelope.ts";
export type { ReadEnvelope } from "./envelope/read-envelope.ts";
