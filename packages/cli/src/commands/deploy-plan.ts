import { join } from "node:path";
import type { TrustRoot } from "@event-anchoring/protocol";
import {
  CLUSTER_FILE,
  COMPOSE_PLACES,
  HELM_VALUES_FILE,
  deploymentFiles,
  planDeployment,
  writeDeployment,
} from "@event-anchoring/provision";
import type { DeploymentPlan, NodeCard } from "@event-anchoring/provision";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { asCliError } from "../files/read-input.ts";
import type { Printer } from "../terminal/printer.ts";

export interface DeployPlanOptions {
  readonly hosts: readonly string[];
  readonly cards: readonly NodeCard[];
  /** Null: none is held yet. */
  readonly trustRoot: TrustRoot | null;
  readonly out: string;
  readonly nowMs: number;
  readonly isJson: boolean;
}

/** `anchorctl deploy plan`: writes what each host runs, or prints all that contradicts itself and writes nothing. */
export async function deployPlanCommand(
  options: DeployPlanOptions,
  printer: Printer,
  aside: Printer,
): Promise<ExitCode> {
  const { hosts, cards, trustRoot, out, isJson } = options;
  const planned = planDeployment({ hosts, cards, trustRoot, nowS: Math.floor(options.nowMs / 1000) });
  if (planned.result === "refused") {
    const { faults } = planned;
    if (isJson) printer.json({ failure: "plan_refused", detail: faults.join("; "), faults });
    else for (const fault of faults) aside.line(`anchorctl: ${fault}`);
    return EXIT.usage;
  }
  const { plan } = planned;
  try {
    await writeDeployment(plan, out);
  } catch (error) {
    throw asCliError(out, "write", error);
  }
  if (isJson) printer.json(planJson(plan, out));
  else printPlan(plan, out, printer);
  return EXIT.ok;
}

function planJson(plan: DeploymentPlan, out: string): object {
  return {
    cluster_name: plan.clusterName,
    cluster_id: plan.clusterId,
    cluster_file: join(out, CLUSTER_FILE),
    helm_values: join(out, HELM_VALUES_FILE),
    hosts: plan.nodes.map((node) => ({
      node_id: node.nodeId,
      address: node.address,
      folder: join(out, node.nodeId),
      files: Object.keys(deploymentFiles(plan, node)),
    })),
  };
}

function printPlan(plan: DeploymentPlan, out: string, printer: Printer): void {
  for (const node of plan.nodes) {
    const files = Object.keys(deploymentFiles(plan, node)).join(", ");
    printer.check("pass", node.nodeId, `${node.address}: ${files} in ${join(out, node.nodeId)}`);
  }
  printer.check("pass", "operators", join(out, CLUSTER_FILE));
  printer.check("pass", "Helm", join(out, HELM_VALUES_FILE));
  if (plan.nodes.length !== COMPOSE_PLACES)
    printer.check("skip", "Compose", `docker-compose.yml has ${COMPOSE_PLACES} places for nodes, this cluster others`);
  printer.verdict("pass", "No file holds a secret. Next: docs/operating/deploy-plan.md");
}
