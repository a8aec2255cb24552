import { RawConnection } from "./raw-connection.ts";
import type { Door } from "./raw-connection.ts";
import type { MadeRequest } from "./request-source.ts";

export interface Drive {
  readonly doors: readonly Door[];
  readonly connectionsPerDoor: number;
  readonly request: (seed: number) => MadeRequest;
  /** The first seed, and the first that is none of this drive's. */
  readonly from: number;
  readonly until: number;
  /** Status of a problem code of the API; undefined: it has no such code. */
  readonly statusOf: (code: string) => number | undefined;
  readonly timeoutMs?: number;
  readonly isOver: () => boolean;
  readonly note: (count: number, seed: number, figures: Readonly<Record<string, number>>) => void;
  readonly fail: (failure: { readonly seed: string; readonly what: string }) => void;
}

const SHOWN_MAX = 700;
const FAULT = /HTTP\/1\.1 5\d\d [\s\S]*/;

/**
 * Sends requests by seed over kept connections to all doors at once, and judges each answer: a whole request is
 * answered, and a status of 500 or more is 503 with a code that the API gives to 503. All connections are closed when
 * it resolves. @returns the first seed that was not sent
 */
export async function drive(plan: Drive): Promise<number> {
  let next = plan.from;
  const client = async (door: Door): Promise<void> => {
    const connection = new RawConnection(door, plan.timeoutMs);
    try {
      while (next < plan.until && !plan.isOver()) await askOne(plan.request(next++), door, connection, plan);
    } finally {
      connection.close();
    }
  };
  const clients = plan.doors.flatMap((door) => Array.from({ length: plan.connectionsPerDoor }, () => client(door)));
  await Promise.all(clients);
  return next;
}

async function askOne(made: MadeRequest, door: Door, connection: RawConnection, plan: Drive): Promise<void> {
  const fail = (what: string): void => {
    const shown = made.bytes.toString("latin1").replace(/Bearer [\w.-]{8,}/, "Bearer …");
    plan.fail({ seed: `${made.seed}`, what: `${door.name}, ${made.kind}: ${what}: ${shown}`.slice(0, SHOWN_MAX) });
  };
  if (!made.isFramed) {
    const text = await connection.throwAway(made.bytes);
    const fault = FAULT.exec(text)?.[0];
    if (fault !== undefined && !isPlanned(Number(fault.slice(9, 12)), fault, plan)) fail(fault.slice(0, 200));
    plan.note(1, made.seed, { [door.name]: 1, [text === "" ? "spoiled, not answered" : "spoiled, answered"]: 1 });
    return;
  }
  try {
    const { status, text } = await connection.ask(made.bytes);
    if (!isPlanned(status, text, plan)) fail(`${status} ${text.slice(0, 200)}`);
    plan.note(1, made.seed, { [door.name]: 1, [`answered ${status}`]: 1 });
  } catch (error) {
    fail(String(error));
    plan.note(1, made.seed, { [door.name]: 1, "without an answer": 1 });
  }
}

/** Everything below 500 is; above, what the API documents for a service that cannot serve now. */
function isPlanned(status: number, text: string, { statusOf }: Drive): boolean {
  if (status < 500) return true;
  // /readyz says so without a problem: it is what it was asked.
  if (status === 503 && text.includes('{"ready":false,"checks":[')) return true;
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return status === 503 && code !== undefined && statusOf(code) === 503;
}
