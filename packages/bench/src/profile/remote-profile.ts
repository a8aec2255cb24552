import { setTimeout as delay } from "node:timers/promises";
import { WebSocket } from "undici";
import { until } from "@event-anchoring/testkit";

/** Where a Node process opens its inspector when it gets SIGUSR1. */
const INSPECTOR = "http://127.0.0.1:9229";
const PATIENCE_MS = 15_000;

export interface ProfileOrder {
  readonly pid: number;
  /** Where the process writes its profile when the time is over. */
  readonly path: string;
  readonly ms: number;
  readonly intervalUs: number;
}

/**
 * Has a running Node process take a CPU profile of its main thread, by itself: its inspector is open only as long as it
 * takes to say so, because all processes of a machine open it at the same port. So several can profile at a time.
 * @throws when the inspector does not open, or belongs to another process
 */
export async function orderProfile(order: ProfileOrder): Promise<void> {
  if ((await targetUrl()) !== null) throw new Error(`${INSPECTOR} is in use: another process is being inspected`);
  process.kill(order.pid, "SIGUSR1");
  const url = await until(`process ${order.pid} opens its inspector`, targetUrl, PATIENCE_MS);
  const { path, ms, intervalUs } = order;
  const expression = `(${takeProfile.toString()})(${JSON.stringify({ path, ms, intervalUs })})`;
  const pid = await evaluate(url, expression);
  if (pid !== order.pid) throw new Error(`the inspector at ${INSPECTOR} belongs to process ${String(pid)}`);
  await until("the inspector is closed", async () => (await targetUrl()) === null, PATIENCE_MS);
}

/** Null while no inspector is open. */
async function targetUrl(): Promise<string | null> {
  try {
    const answer = await fetch(`${INSPECTOR}/json/list`, { signal: AbortSignal.timeout(2000) });
    const [target] = (await answer.json()) as readonly { readonly webSocketDebuggerUrl?: string }[];
    return target?.webSocketDebuggerUrl ?? null;
  } catch {
    // Nothing listens there.
    return null;
  }
}

/** Runs in the other process, from its source text: it may use nothing but its argument. @returns its process id */
function takeProfile(order: { readonly path: string; readonly ms: number; readonly intervalUs: number }): number {
  const { Session, close } = process.getBuiltinModule("node:inspector");
  const { renameSync, writeFileSync } = process.getBuiltinModule("node:fs");
  const stop = (session: InstanceType<typeof Session>): void => {
    session.post("Profiler.stop", (error, stopped) => {
      session.disconnect();
      // Complete or not there at all.
      writeFileSync(`${order.path}.part`, JSON.stringify(error ?? stopped.profile));
      renameSync(`${order.path}.part`, order.path);
    });
  };
  const begin = (): void => {
    // This takes a while, and is no part of the profile.
    close();
    const session = new Session();
    session.connect();
    session.post("Profiler.enable");
    session.post("Profiler.setSamplingInterval", { interval: order.intervalUs });
    session.post("Profiler.start");
    setTimeout(stop, order.ms, session);
  };
  // After the answer to the caller has left.
  setTimeout(begin, 100);
  return process.pid;
}

interface Evaluated {
  readonly result?: {
    readonly result?: { readonly value?: unknown };
    readonly exceptionDetails?: { readonly text: string; readonly exception?: { readonly description?: string } };
  };
}

async function evaluate(url: string, expression: string): Promise<unknown> {
  const socket = new WebSocket(url);
  const answered = new Promise<unknown>((resolve, reject) => {
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression, returnByValue: true } }));
    });
    socket.addEventListener("message", ({ data: text }) => {
      const { result } = JSON.parse(String(text)) as Evaluated;
      const problem = result?.exceptionDetails;
      if (problem === undefined) resolve(result?.result?.value);
      else reject(new Error(problem.exception?.description ?? problem.text));
    });
    socket.addEventListener("error", () => reject(new Error(`no connection to ${url}`)));
    socket.addEventListener("close", () => reject(new Error(`${url} was closed`)));
  });
  try {
    const late = delay(PATIENCE_MS, null, { ref: false }).then(() => {
      throw new Error(`${url} does not answer`);
    });
    return await Promise.race([answered, late]);
  } finally {
    socket.close();
  }
}
