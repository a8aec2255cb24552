/**
 * What must exist before a cluster can start, and the calls an operator makes once it runs.
 *
 *     const cluster = await createCluster({ clusterName: "local", nodes, quorum: 2, outDir }); // or loadCluster
 *     // … write each node's configuration, start it, wait until genesis is applied (status: serving.state "running")
 *     const credential = await issueOperatorCertificate({ outDir, operatorId: "setup" });
 *     const signer = await loadFirstOperator(outDir);
 *     const key = drawApiKey({ label: "default", scopes: ["read", "write", "revoke"] });
 *     const result = await act({ credential, signer, node: { nodeId, host, port, authPublicKey }, call: key.call });
 *     // result.outcome: applied | unchanged | rejected | refused (503: try again, same call); key.apiKey is the text
 */
export {
  NODE_TLS_LIFETIME_MS,
  OPERATOR_LIFETIME_MS_MAX,
  createCertificateAuthority,
  issueCertificate,
  issueRequested,
  requestCertificate,
  spkiSha256Of,
  splitCertificates,
} from "./ca.ts";
export type { CertificateAuthority, IssuedCertificate } from "./ca.ts";
export { restorationFault } from "./restoration-rule.ts";
export { beginCluster, parseClusterCard } from "./cluster-card.ts";
export { QUORUM_SHAPES, describeQuorumShape, liarsExcluded } from "./quorum-shape.ts";
export { composeFirstTrustRoot } from "./first-trust-root.ts";
export type { FirstTrustRoot } from "./first-trust-root.ts";
export { certsCommand } from "./certs/certs-command.ts";
export type { CertsCommandName } from "./certs/certs-command.ts";
export { holdCeremony } from "./ceremony.ts";
export type { Ceremony, CeremonyPlan, NodeSecrets } from "./ceremony.ts";
export { createCluster, loadCertificateAuthority, loadCluster, renewTls } from "./cluster-files.ts";
export type { NewCluster, ProvisionedCluster, ProvisionedNode } from "./cluster-files.ts";
export {
  CLUSTER_FILE,
  COMPOSE_PLACES,
  HELM_VALUES_FILE,
  deploymentFiles,
  writeDeployment,
} from "./deployment-files.ts";
export { planDeployment } from "./deployment-plan.ts";
export type { DeploymentPlan, DeploymentWish } from "./deployment-plan.ts";
export { writeGatewayFiles } from "./gateway-files.ts";
export { scramVerifier } from "./scram.ts";
export { hasCode } from "./has-code.ts";
export { identityOf, isAlive, signalProcess } from "./process-identity.ts";
export type { ProcessIdentity } from "./process-identity.ts";
export {
  PrivateFileError,
  makeNamedDirectory,
  makePrivateDirectory,
  readPrivateFile,
  readSeed,
  writePrivateFile,
} from "./files.ts";
export { NodeCardError, formatNodeCard, parseNodeCard } from "./node-card.ts";
export type { NodeCard } from "./node-card.ts";
export {
  NODE_KEY_NAMES,
  discardRotation,
  installFirstTrustRoot,
  prepareFirstNode,
  prepareNode,
  prepareRotation,
  readTrustRoots,
  settleNode,
  writeTrustRoots,
} from "./node-identity.ts";
export type { NodeKeyName } from "./node-identity.ts";
export { PASSPHRASE_CHARACTERS_MIN, createOperatorKey, createRootKey, readSealedKey } from "./sealed-key-file.ts";
export { proposeTrustRoot, readMembership, readTrustRootChain } from "./trust-root-calls.ts";
export {
  TrustRootChangeError,
  composeTrustRoot,
  countSignatures,
  formatProposal,
  judgeProposal,
  mergeProposals,
  parseProposal,
  signProposal,
} from "./trust-root-change.ts";
export type { SignatureCount, TrustRootChange, TrustRootProposal } from "./trust-root-change.ts";
export {
  OperatorCallError,
  drawApiKey,
  drawReplacementApiKey,
  expiryOf,
  issueOperatorCertificate,
} from "./operator.ts";
export { act, actSignerOf, listApiKeys, loadFirstOperator, operatorKeyPath } from "./operator-acts.ts";
export type { CalledNode, NewApiKey, OperatorCredential } from "./operator.ts";
export { shellWord } from "./shell-word.ts";
export { prepareWitness } from "./witness-key.ts";
