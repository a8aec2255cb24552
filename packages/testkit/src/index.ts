export { startTestPostgres } from "./postgres/test-postgres.ts";
export type { TestDatabase, TestPostgres } from "./postgres/test-postgres.ts";
export { processesOf, readCpu } from "./overload/process-usage.ts";
export type { CpuReading } from "./overload/process-usage.ts";
export { differencesAt, headsAt, receiptFailures } from "./cluster/acknowledged.ts";
export { ClusterLoad } from "./cluster/cluster-load.ts";
export { EventService } from "./clients/event-service.ts";
export { LoadClient } from "./clients/load-client.ts";
export type { LoadAnswer } from "./clients/load-client.ts";
export { RetryingWriter } from "./clients/retrying-writer.ts";
export type { Acknowledged } from "./clients/retrying-writer.ts";
export { audit } from "./faults/audit.ts";
export { ForgetfulDisks } from "./faults/forgetful-disks.ts";
export { FaultSwitches } from "./faults/fault-switches.ts";
export { flipBack, flipBit } from "./faults/bit-flip.ts";
export type { FlippedBit } from "./faults/bit-flip.ts";
export { plant, planting } from "./faults/planted-code.ts";
export type { PlantedCode } from "./faults/planted-code.ts";
export { answersAt, isRefusal, questionsAbout, wrongAnswers } from "./faults/questions.ts";
export type { Question } from "./faults/questions.ts";
export { cutPower } from "./faults/power-cut.ts";
export { startFaultyCluster } from "./faults/faulty-cluster.ts";
export type { FaultyCluster } from "./faults/faulty-cluster.ts";
export { MixedLoad } from "./faults/mixed-load.ts";
export { Recorder } from "./faults/recorder.ts";
export { HeadReader } from "./faults/head-reader.ts";
export { RecordWriter } from "./faults/record-writer.ts";
export { judgedHistory } from "./faults/judged-history.ts";
export { HistoryChecker } from "./faults/history-checker.ts";
export { CLOCK_NEMESES } from "./faults/clock-nemeses.ts";
export { NETWORK_NEMESES } from "./faults/network-nemeses.ts";
export { PROCESS_NEMESES } from "./faults/process-nemeses.ts";
export { STORAGE_NEMESES } from "./faults/storage-nemeses.ts";
export { describeInjection, injectFaults } from "./faults/inject-faults.ts";
export { SmallDisk } from "./faults/small-disk.ts";
export type { Nemesis } from "./faults/nemesis.ts";
export { startTestCluster } from "./cluster/test-cluster.ts";
export type { TestCluster } from "./cluster/test-cluster.ts";
export { isReady } from "./cluster/is-ready.ts";
export { nodeFiles } from "./cluster/node-files.ts";
export type { NodeFiles, Stopped } from "./cluster/node-files.ts";
export { SqlSession } from "./postgres/sql-session.ts";
export { until } from "./until.ts";
export { createReceiptMaker } from "./records/receipt-maker.ts";
export type { ReceiptMaker } from "./records/receipt-maker.ts";
export { AnchoringClient, expectOk, served } from "./clients/anchoring-client.ts";
export type {
  Answer,
  QueryFields,
  WireAnchor,
  WireAsOf,
  WireCheck,
  WireCreated,
  WireFound,
} from "./clients/anchoring-client.ts";
export {
  claimBody,
  eventBody,
  grantBody,
  partyOf,
  revocationBody,
  signClaim,
  signEvent,
  signGrant,
  signRevocation,
} from "./records/signed-records.ts";
export type { JsonBody, Party } from "./records/signed-records.ts";
export { threeNodeCeremony } from "./records/three-node-ceremony.ts";
export { ForeignLog } from "./records/foreign-log.ts";
export { TestActs } from "./records/test-acts.ts";
export { TestOperator } from "./cluster/test-operator.ts";
export { NEXT_RULES } from "./records/next-rules.ts";
export { HOLD_MS_MAX, hostileBodies, hostileHolds } from "./overload/hostile-bodies.ts";
export { checkReadiness, othersShare, storm } from "./overload/overload.ts";
export type { Check, Storm } from "./overload/overload.ts";
export { servedChain, trustRootsOf } from "./cluster/trust-roots.ts";
export { LastingFollower } from "./cluster/lasting-follower.ts";
export { FeedReader, assertHeadsChained } from "./clients/feed-reader.ts";
export { HttpConnection } from "./clients/http-connection.ts";
export type { HttpRequest } from "./clients/http-connection.ts";
export { HttpResponseReader } from "./clients/http-response-reader.ts";
export type { HttpAnswer } from "./clients/http-response-reader.ts";
export { KeptSocket } from "./clients/kept-socket.ts";
export {
  CLIENT,
  clusterGroups,
  forgetPeaks,
  ownGroup,
  readMainThreadMs,
  readPeaksMb,
  readWakeUps,
  wakeUpsBetween,
} from "./overload/process-usage.ts";
export { FaultNetwork } from "./faults/fault-network.ts";
export type { ProcessGroup, WakeUps } from "./overload/process-usage.ts";
export {
  ANCHORCTL,
  CrosscheckProcess,
  PROOF_PAGE,
  TYPESCRIPT,
  availableSdks,
  findPythonWith,
  findRustProgram,
  shippedPage,
} from "./sdks/crosscheck-process.ts";
export type { CrosscheckAnswer, SdkCommand } from "./sdks/crosscheck-process.ts";
export { findChromium } from "./sdks/find-chromium.ts";
export { proofTextOf } from "./sdks/proof-text.ts";
