/** Node-to-node, api-to-node and operator messages, with their codecs. Never shipped in an SDK. */
export { REFUSAL_CODES, RETRY_AFTER_MS } from "./refusal-code.ts";
export type { RefusalCode } from "./refusal-code.ts";
export { FRAME_HEADER_BYTES, FrameSizeError, FrameSplitter, frameHeader, joinFrames } from "./frame-splitter.ts";
export {
  decodeMembership,
  decodeTrustRootReadiness,
  encodeMembership,
  encodeTrustRootReadiness,
} from "./membership.ts";
export type { Member, Membership, TrustRootReadiness } from "./membership.ts";
export { API_SETTINGS, CONTROL_PLANE_SETTINGS } from "./process-settings.ts";
export type { ControlPlaneSettings } from "./process-settings.ts";
export { SettingsError, SettingsFaults, readSettings, settingsOf } from "./settings.ts";
export { nearestName, unknownName } from "./nearest-name.ts";
export { SERVICE_VERSION } from "./service-version.ts";
export type { Setting, SettingsShape } from "./settings.ts";
export type { NodeStatus } from "./node-status.ts";
export {
  LOCAL_FRAME_BYTES_MAX,
  LOCAL_WINDOW,
  STATE_HELD_MS,
  decodeLocalRequest,
  encodeLocalRequest,
} from "./local-frames.ts";
export type { Finality, HoldPurpose, LocalRequest } from "./local-frames.ts";
export { OneAnswer } from "./one-answer.ts";
export { LocalResponseReader, LocalResponseWriter } from "./local-responses.ts";
export type {
  LatestAnchor,
  LatestClientEvent,
  LocalResponse,
  SubmittedOutcome,
  SubmittedRecord,
} from "./local-responses.ts";
export { WitnessedLogsError, isSignedByLog, parseWitnessedLogs } from "./witness/witnessed-logs.ts";
export type { WitnessedLog } from "./witness/witnessed-logs.ts";
export type { WitnessAnswer } from "./witness-answer.ts";
export {
  WitnessPromisesError,
  brokenWitnessPromise,
  formatWitnessPromises,
  parseWitnessPromises,
} from "./witness/witness-promises.ts";
export type { CosignedCheckpoint, WitnessPromises } from "./witness/witness-promises.ts";
export type { CallerKey } from "./key-list.ts";
export type { ShownCertificate } from "./sent-once.ts";
export {
  BULK_FRAME_BYTES_MAX,
  CONTROL_FRAME_BYTES_MAX,
  GROUP_TRACES_MAX,
  LINES_MAX,
  SEQUENCE_BYTES,
  WITNESSED_HEADS_MAX,
  decodePeerFrame,
  encodePeerFrame,
} from "./peer-frames.ts";
export type {
  GroupTrace,
  HeadLine,
  Lane,
  PeerCosignature,
  PeerFrame,
  StateSignature,
  WitnessLine,
  WitnessedHead,
} from "./peer-frames.ts";
export { progressSignedBytes } from "./own-word.ts";
export type { OwnWord, Progress, SignedProgress } from "./own-word.ts";
export type { CallContext, TraceContext } from "./call-context.ts";
export {
  HELLO_ANSWER_FRAME_BYTES_MAX,
  HELLO_FRAME_BYTES_MAX,
  decodeHello,
  decodeHelloAnswer,
  encodeHello,
  encodeHelloAnswer,
  trustRootsAfter,
} from "./hello.ts";
export type { Hello, HelloAnswer, HelloRefusal, HelloRefusalCode, HelloVerdict } from "./hello.ts";
export {
  CLUSTER_AUTH_HEADER,
  EXPORTER_BYTES,
  EXPORTER_LABEL,
  FIRST_FRAME_SEQUENCE,
  decodeSignedFrame,
  encodeSignedFrame,
  formatAuthHeader,
  parseAuthHeader,
  signNodeRequest,
  signOperatorRequest,
  signResponse,
} from "./cluster-auth.ts";
export type { AuthClaims, AuthContext } from "./cluster-auth.ts";
export {
  IncarnationMemory,
  NonceMemory,
  verifyNodeRequest,
  verifyOperatorRequest,
  verifyResponse,
} from "./cluster-auth-verify.ts";
export type { AuthRefusalCode, AuthVerdict, RequestExpectation } from "./cluster-auth-verify.ts";
export { formatIdentity, parseIdentity } from "./identity.ts";
export type { CertificateIdentity, CertificateRole } from "./identity.ts";
export {
  LISTED_API_KEYS_MAX,
  apiKeyListOf,
  apiKeyListStatus,
  decodeApiKeyList,
  decodeOperatorAct,
  decodeOperatorResult,
  encodeApiKeyList,
  encodeOperatorAct,
  encodeOperatorResult,
  operatorResultStatus,
  usedCounterOf,
} from "./operator-calls.ts";
export type {
  ActSigner,
  ApiKeyList,
  CreateApiKey,
  ListedApiKey,
  OperatorCall,
  OperatorResult,
} from "./operator-calls.ts";
export { API_KEY_SECRET_BYTES, apiKeyIdentity, formatApiKey, parseApiKey } from "./api-key.ts";
export {
  LANE_PATHS,
  UNARY_CALLS,
  UNARY_REQUEST_BYTES_MAX,
  UNARY_RESPONSE_BYTES_MAX,
  UPGRADE_PROTOCOL,
  decodeNodeStatus,
  decodePrimeRootThk,
  decodeSnapshotChunkRequest,
  decodeSnapshotManifest,
  decodeTrustRootChain,
  encodeNodeStatus,
  encodePrimeRootThk,
  encodeSnapshotChunkRequest,
  encodeSnapshotManifest,
  encodeTrustRootChain,
  unaryCallOf,
} from "./unary.ts";
export type { UnaryCall, UnaryCallName } from "./unary.ts";
export {
  SLOT_CLASS_MAX,
  brokenPromise,
  decodePromises,
  encodePromises,
  encodeSlot,
  readSlot,
  slotBytesOf,
  slotClassFor,
  slotOffsetOf,
  furthest,
  isBefore,
} from "./promises/promise-codec.ts";
export type { PeerPromises, Promises, SignedHead, SignedState } from "./promises/promise-codec.ts";
export { newestSlot } from "./promises/promise-slots.ts";
export type { SlotPosition } from "./promises/promise-slots.ts";
