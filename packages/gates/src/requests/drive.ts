import { ANSWER_TIMEOUT_MS, RawConnection } from "./raw-connection.ts";
import type { Door } from "./raw-connection.ts";
import type { MadeRequest } from "./request-source.ts";
import { sendSpoiled } from "./send-spoiled.ts";
import type { SpoiledOutcome } from "./send-spoiled.ts";

/** What the contract says of answers of 500 and more. */
export interface PlannedAnswers {
  /** Status of a problem code of the API; undefined: it has no such code. */
  readonly statusOf: (code: string) => number | undefined;
  /** Paths that answer 503 without a problem code: they say by it what they were asked. */
  readonly unreadyPaths: ReadonlySet<string>;
}

export interface Drive extends PlannedAnswers {
  readonly doors: readonly Door[];
  readonly connectionsPerDoor: number;
  readonly request: (seed: number) => MadeRequest;
  /** What failures must not show. */
  readonly apiKey: string;
  /** The first seed, and the first that is none of this drive's. */
  readonly from: number;
  readonly until: number;
  readonly timeoutMs?: number;
  readonly isOver: () => boolean;
  readonly note: (count: number, seed: number, figures: Readonly<Record<string, number>>) => void;
  readonly fail: (failure: { readonly seed: string; readonly what: string }) => void;
}

const SHOWN_MAX = 700;
const TEXT_SHOWN_MAX = 200;

/**
 * Sends requests by seed over kept connections to all doors at once, and judges each answer: a whole request is
 * answered, and a status of 500 or more is 503 with a code that the API gives to 503. Bytes that may be no request are
 * answered, or their connection is closed. All connections are closed when it resolves.
 * @returns the first seed that was not sent
 */
export async function drive(plan: Drive): Promise<number> {
  let next = plan.from;
  const client = async (door: Door): Promise<void> => {
    const connection = new RawConnection(door, plan.timeoutMs);
    try {
      while (next < plan.until && !plan.isOver()) {
        const made = plan.request(next++);
        await (made.isFramed ? askFramed(made, door, connection, plan) : askSpoiled(made, door, plan));
      }
    } finally {
      connection.close();
    }
  };
  const clients = plan.doors.flatMap((door) => Array.from({ length: plan.connectionsPerDoor }, () => client(door)));
  await Promise.all(clients);
  return next;
}

function fail(made: MadeRequest, door: Door, plan: Drive, what: string): void {
  // The key is not shown, also where the bytes before it are other ones.
  const text = made.bytes.toString("latin1").replaceAll(plan.apiKey, "…");
  const shown = text.replaceAll(/Bearer [\w.-]{8,}/g, "Bearer …");
  plan.fail({ seed: `${made.seed}`, what: `${door.name}, ${made.kind}: ${what}: ${shown}`.slice(0, SHOWN_MAX) });
}

async function askFramed(made: MadeRequest, door: Door, connection: RawConnection, plan: Drive): Promise<void> {
  const way = door.isNode ? { [`to nodes ${made.way}`]: 1 } : {};
  try {
    const { status, text } = await connection.ask(made.bytes);
    if (!isPlanned(made.bytes, status, text, plan)) fail(made, door, plan, `${status} ${shownOf(text)}`);
    plan.note(1, made.seed, { [door.name]: 1, [`answered ${status}`]: 1, ...way });
  } catch (error) {
    fail(made, door, plan, String(error));
    plan.note(1, made.seed, { [door.name]: 1, "without an answer": 1 });
  }
}

async function askSpoiled(made: MadeRequest, door: Door, plan: Drive): Promise<void> {
  const outcome = await sendSpoiled(door, made.bytes, plan.timeoutMs ?? ANSWER_TIMEOUT_MS);
  for (const what of spoiledFaults(made.bytes, outcome, plan)) fail(made, door, plan, what);
  const { end, answers } = outcome;
  // A request of which nothing is known in the end is none that was judged.
  if (end === "silent" || end === "unreached") {
    plan.note(0, made.seed, { [`spoiled, ${end}`]: 1 });
    return;
  }
  const what = answers.length > 0 ? "spoiled, answered" : "spoiled, closed without an answer";
  plan.note(1, made.seed, { [door.name]: 1, [what]: 1 });
}

/** What is wrong with what a server did: a line for each. */
function spoiledFaults(bytes: Buffer, outcome: SpoiledOutcome, plan: PlannedAnswers): readonly string[] {
  const { answers, end, whole, unreadable } = outcome;
  const bad = answers.filter(({ status, text }) => !isPlanned(bytes, status, text, plan));
  return [
    ...bad.map(({ status, text }) => `${status} ${shownOf(text)}`),
    ...(unreadable === null ? [] : [`no answer of HTTP: ${unreadable}`]),
    ...(end === "silent" ? ["it neither answers nor closes"] : []),
    ...(end === "unreached" ? ["there was no connection"] : []),
    ...(end === "closed" && whole > 0 && answers.length === 0 ? ["closed without an answer to a whole request"] : []),
  ];
}

function shownOf(text: string): string {
  return text.slice(0, TEXT_SHOWN_MAX);
}

/** Everything below 500 is; above, what the API documents for a service that cannot serve now. */
function isPlanned(asked: Buffer, status: number, text: string, { statusOf, unreadyPaths }: PlannedAnswers): boolean {
  if (status < 500) return true;
  if (status !== 503) return false;
  if (text.includes('{"ready":false,"checks":[')) return unreadyPaths.has(pathOf(asked));
  const code = /"code":"(\w+)"/.exec(text)?.[1];
  return code !== undefined && statusOf(code) === 503;
}

/** The path that a request names, as it is spelt; "": it names none. */
function pathOf(asked: Buffer): string {
  const line = asked.toString("latin1", 0, asked.indexOf("\r\n"));
  return /^[A-Z]+ (?:https?:\/\/[^/?# ]*)?(\/[^?# ]*)/i.exec(line)?.[1] ?? "";
}
