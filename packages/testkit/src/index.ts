export { startTestPostgres } from "./test-postgres.ts";
export type { TestDatabase, TestPostgres } from "./test-postgres.ts";
export { benchCommand } from "./bench/bench.ts";
export { readCpu } from "./bench/process-usage.ts";
export type { CpuReading } from "./bench/process-usage.ts";
export { trustRootsOf } from "./bench/verify-samples.ts";
export { differencesAt, headsAt, receiptFailures } from "./acknowledged.ts";
export { ClusterLoad } from "./cluster-load.ts";
export { LoadClient } from "./load-client.ts";
export { RetryingWriter } from "./retrying-writer.ts";
export type { Acknowledged } from "./retrying-writer.ts";
export { audit } from "./faults/audit.ts";
export { startFaultyCluster } from "./faults/faulty-cluster.ts";
export type { FaultyCluster } from "./faults/faulty-cluster.ts";
export { MixedLoad } from "./faults/mixed-load.ts";
export { Recorder } from "./faults/recorder.ts";
export { judgedHistory } from "./faults/judged-history.ts";
export { HistoryChecker } from "./faults/history-checker.ts";
export { CLOCK_NEMESES } from "./faults/clock-nemeses.ts";
export { NETWORK_NEMESES } from "./faults/network-nemeses.ts";
export { PROCESS_NEMESES } from "./faults/process-nemeses.ts";
export { STORAGE_NEMESES } from "./faults/storage-nemeses.ts";
export { describeStrike, strike } from "./faults/strike.ts";
export { SmallDisk } from "./faults/small-disk.ts";
export type { Nemesis } from "./faults/nemesis.ts";
export { startTestCluster } from "./test-cluster.ts";
export type { TestCluster } from "./test-cluster.ts";
export { nodeFiles } from "./node-files.ts";
export type { NodeFiles, Stopped } from "./node-files.ts";
export { SqlSession } from "./sql-session.ts";
export { until } from "./until.ts";
export { createReceiptMaker } from "./receipt-maker.ts";
export type { ReceiptMaker } from "./receipt-maker.ts";
export { AnchoringClient, expectOk, served } from "./anchoring-client.ts";
export type {
  Answer,
  QueryFields,
  WireAnchor,
  WireAsOf,
  WireCheck,
  WireCreated,
  WireFound,
} from "./anchoring-client.ts";
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
} from "./signed-records.ts";
export type { JsonBody, Party } from "./signed-records.ts";
export { TestActs } from "./test-acts.ts";
export { TestOperator } from "./test-operator.ts";
export { SimulatedProcess, WORLD_START_MS } from "./simulator/simulated-process.ts";
export { SimulatedTables } from "./simulator/simulated-tables.ts";
export { rootIn } from "./simulator/stored-ledger-of.ts";
export { World } from "./simulator/world.ts";
export { NEXT_RULES } from "./next-rules.ts";
export { liveOneLife } from "./simulator/life.ts";
export type { LifeOptions, LifeResult } from "./simulator/life.ts";
export { simCommand } from "./simulator/sim-command.ts";
export { PLANTED_BUGS } from "./simulator/planted-bugs.ts";
export type { PlantedBug } from "./simulator/planted-bugs.ts";
export { HOLD_MS_MAX, hostileBodies, hostileHolds } from "./hostile-bodies.ts";
export { checkReadiness, othersShare, storm } from "./overload.ts";
export type { Check, Storm } from "./overload.ts";
export { NoLie } from "./simulator/lies/lie.ts";
export type { Lie } from "./simulator/lies/lie.ts";
export { lyingNetwork } from "./simulator/lies/lying-network.ts";
export { OtherBytes, cosignedBy } from "./simulator/lies/other-bytes.ts";
export { DECEIVES, KEEPS_OFFICE, LIES } from "./simulator/lies/all-lies.ts";
export type { LieName } from "./simulator/lies/all-lies.ts";
export { liveBesideALiar } from "./simulator/liar-life.ts";
