/** A cluster's first trust root, from keys that were made apart: begin, draft, finish. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, verifyTrustRootChain } from "@event-anchoring/protocol";
import { beginCluster, composeFirstTrustRoot, formatProposal, writeTrustRoots } from "@event-anchoring/provision";
import type { FirstTrustRoot } from "@event-anchoring/provision";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { groupsOf } from "../reports/describe-trust-root.ts";
import type { Printer } from "../terminal/printer.ts";
import { asUsage } from "./root-key.ts";
import { asRefusal, completeProposal, writeProposal } from "./root-proposal.ts";

/** `anchorctl root begin`: what comes before all keys. */
export async function beginCommand(
  { folder, clusterName, isJson }: { readonly folder: string; readonly clusterName: string; readonly isJson: boolean },
  printer: Printer,
): Promise<ExitCode> {
  const { clusterId } = await asUsage(() => beginCluster(folder, clusterName));
  const [card, logSeed] = [join(folder, "cluster.card"), join(folder, "log.seed")];
  if (isJson) printer.json({ cluster_name: clusterName, cluster_id: bytesToHex(clusterId), card, log_seed: logSeed });
  else {
    printer.check("pass", "cluster", `${clusterName}  ${bytesToHex(clusterId)}`);
    printer.check("pass", "public", `${card}, for everyone who prepares a node`);
    printer.check("warn", "secret", `${logSeed}, only for those who prepare a node`);
    const files = ["--cluster-card", card, "--log-seed", logSeed, "--identity", "<folder>"];
    printer.verdict("pass", `Next, on each node: ${printer.next("member", "prepare", "<id>", ...files)}`);
  }
  return EXIT.ok;
}

/** `anchorctl root draft`: writes version 1, unsigned. */
export function draftCommand(
  { first, out, isJson }: { readonly first: FirstTrustRoot; readonly out: string; readonly isJson: boolean },
  printer: Printer,
): ExitCode {
  const proposal = asRefusal(() => composeFirstTrustRoot(first));
  writeProposal(out, { chain: null, isJson }, proposal, printer);
  return EXIT.ok;
}

/** `anchorctl root finish`: puts the signatures of version 1 together and writes what everybody gets. */
export async function finishCommand(
  { paths, folder, isJson }: { readonly paths: readonly string[]; readonly folder: string; readonly isJson: boolean },
  printer: Printer,
): Promise<ExitCode> {
  const proposal = completeProposal(null, paths);
  const input = { documents: [formatProposal(proposal)], pinnedRootThk: proposal.rootThk };
  const verification = verifyTrustRootChain(input, nodeCrypto);
  if (verification.result === "refused") {
    throw new CliError(EXIT.invalid, verification.code, `the version is refused: ${verification.detail}`);
  }
  await asUsage(async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeTrustRoots(folder, verification.chain);
  });
  const rootThk = bytesToHex(proposal.rootThk);
  const document = join(folder, "trust-root.txt");
  if (isJson) printer.json({ version: 1, root_thk: rootThk, document });
  else {
    printer.check("pass", "RootTHK", `${groupsOf(proposal.rootThk)}: read it aloud, publish it`);
    const own = ["--identity", "<folder>", "--ca", "<ca.crt>", "--certificate", "<file>"];
    const install = printer.next(
      "member",
      "install",
      "<id>",
      "--document",
      document,
      "--root-thk",
      "<as heard>",
      ...own,
    );
    printer.verdict("pass", `Next, on each node: ${install}`);
  }
  return EXIT.ok;
}
