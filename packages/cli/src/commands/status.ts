import { CliError, EXIT } from "../cli-error.ts";
import type { ExitCode } from "../cli-error.ts";
import { isRecord } from "../nearest-cluster.ts";
import type { Printer } from "../printer.ts";
import { Service } from "../service.ts";
import type { Answer } from "../service.ts";
import type { Target } from "../target.ts";

const TIMEOUT_MS = 3000;

interface NodeState {
  readonly apiUrl: string;
  readonly isReady: boolean;
  /** Null when the node did not answer. */
  readonly health: Readonly<Record<string, unknown>> | null;
  /** Checks that fail, or why there was no answer. */
  readonly failing: readonly string[];
}

/** `anchorctl status`: each node's health and readiness. Exit 0 if all are ready, else `unavailable`. */
export async function statusCommand(options: { isJson: boolean }, target: Target, printer: Printer): Promise<ExitCode> {
  const nodes = await Promise.all(target.apiUrls.map(stateOf));
  const areReady = nodes.every((node) => node.isReady);
  if (options.isJson) {
    printer.json({
      ready: areReady,
      nodes: nodes.map(({ apiUrl, isReady, health, failing }) => ({
        api_url: apiUrl,
        ready: isReady,
        failing,
        health,
      })),
    });
  } else {
    for (const node of nodes) printNode(printer, node);
  }
  return areReady ? EXIT.ok : EXIT.unavailable;
}

async function stateOf(apiUrl: string): Promise<NodeState> {
  const service = new Service({ apiUrls: [apiUrl], apiKey: null, timeoutMs: TIMEOUT_MS });
  const [health, ready] = await Promise.all([answerOf(service, "/healthz"), answerOf(service, "/readyz")]);
  if (typeof health === "string") return { apiUrl, isReady: false, health: null, failing: [health] };
  if (typeof ready === "string") return { apiUrl, isReady: false, health: health.body, failing: [ready] };
  return { apiUrl, isReady: ready.status === 200, health: health.body, failing: failingChecks(ready) };
}

async function answerOf(service: Service, path: string): Promise<Answer | string> {
  try {
    return await service.askOnce({ method: "GET", path });
  } catch (error) {
    if (error instanceof CliError) return error.message;
    throw error;
  }
}

function failingChecks({ body }: Answer): readonly string[] {
  const checks: readonly unknown[] = Array.isArray(body.checks) ? body.checks : [];
  return checks.flatMap((check) =>
    isRecord(check) && check.result === "fail" ? [`${word(check.check)}: ${word(check.detail)}`] : [],
  );
}

function printNode(printer: Printer, { apiUrl, isReady, health, failing }: NodeState): void {
  const raft = isRecord(health?.raft) ? health.raft : {};
  const sync = isRecord(health?.prime_root_thk) ? health.prime_root_thk : {};
  const name = typeof health?.node_id === "string" ? health.node_id : apiUrl;
  const role = `${word(raft.role)}, term ${word(raft.term)}`;
  const indexes = `commit ${word(raft.commit_index)}, applied ${word(raft.applied_index)}`;
  const rootSync = `trust root ${word(sync.version)} ${sync.in_sync === true ? "in sync" : "not in sync"}`;
  printer.check(
    isReady ? "pass" : "fail",
    name,
    health === null ? apiUrl : `${apiUrl}  ${role}  ${indexes}  ${rootSync}`,
  );
  for (const reason of failing) printer.check("warn", "", reason);
}

/** A field of an answer, as a person reads it. */
function word(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "?";
}
