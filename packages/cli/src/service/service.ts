import {
  AnchoringError,
  ApiProblem,
  Client,
  InvalidInput,
  TransportFailure,
  UnexpectedAnswer,
  VerificationError,
  delayBeforeRetry,
  isPassing,
} from "@event-anchoring/sdk";
import type { JsonBody, RawAnswer, RawRequest, Reader, RetryRule } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { isRecord } from "../files/nearest-cluster.ts";
import { serviceTransport } from "./service-transport.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** An answer of the service. The body is what a server sent: each reader checks it. */
export class Answer {
  readonly status: number;
  readonly apiUrl: string;
  readonly body: Fields;

  constructor(status: number, apiUrl: string, body: Fields) {
    this.status = status;
    this.apiUrl = apiUrl;
    this.body = body;
  }

  /** What a reader makes of the body. @throws CliError `answer_malformed` */
  read<Value>(reader: Reader<Value>): Value {
    try {
      return reader(this.body, "the body");
    } catch (error) {
      throw error instanceof UnexpectedAnswer ? malformed(this.apiUrl, error) : error;
    }
  }

  /** The same with other members. */
  with(members: Fields): Answer {
    return new Answer(this.status, this.apiUrl, { ...this.body, ...members });
  }
}

function malformed(apiUrl: string | null, { code, message }: UnexpectedAnswer): CliError {
  return new CliError(EXIT.unavailable, code, `${apiUrl ?? ""}: ${message}`);
}

/** An empty body has no members. */
function answerOf(raw: RawAnswer): Answer {
  return new Answer(raw.status, raw.endpoint, raw.body.length === 0 ? {} : raw.json());
}

export interface Question {
  readonly method?: "GET" | "POST";
  readonly path: string;
  readonly query?: RawRequest["query"];
  readonly body?: JsonBody;
  /** How long one node has; for questions that take a server longer than others. */
  readonly tryTimeoutMs?: number;
  /** Seconds that the service may wait for receipts that enough witnesses have cosigned. Absent: it does not wait. */
  readonly witnessedWithinS?: number;
}

export interface ServiceOptions {
  /** Base addresses without a trailing slash; the next one is asked when one does not answer. */
  readonly apiUrls: readonly string[];
  readonly apiKey: string | null;
  /** How long the whole question may take, with all repetitions. */
  readonly timeoutMs: number;
  /** Called with the reason why no node has answered, before all are asked again. */
  readonly onWait?: (reason: string) => void;
}

const TRY_TIMEOUT_MS = 6000;
/** For batches: what the service takes at most, and a little. */
export const BATCH_TRY_TIMEOUT_MS = 17_000;
const BACKOFF = { backoffMs: 100, backoffMaxMs: 2000 } as const;

/**
 * The service as the commands ask it: by the SDK's client, with answers as they came. A question that writes carries a
 * `client_event_id`, or is known by its content: asking again is safe, and the answer is that of the first time.
 */
export class Service {
  /** The same nodes, with the SDK's own answers and errors. */
  readonly client: Client;
  readonly #once: Client;

  /** @throws CliError `invalid_input` for an address or a key that cannot be one */
  constructor(options: ServiceOptions) {
    this.client = clientOf(options, inTurn(options));
    this.#once = clientOf(options, () => null);
  }

  /** Any lasting answer. @throws CliError `unavailable` with the newest reason when no node has answered in time */
  async ask(question: Question): Promise<Answer> {
    const { tryTimeoutMs, witnessedWithinS: wait = 0, ...request } = question;
    const prefer = wait === 0 ? {} : { wait, witnessed: true };
    const timeoutMs = tryTimeoutMs === undefined ? undefined : tryTimeoutMs + wait * 1000;
    const isAnswer = (status: number): boolean => !isPassing(status);
    const asked = { ...request, isWrite: false, isRepeatable: true, isAnswer };
    return answerOf(await this.call((client) => client.request(asked, { timeoutMs, ...prefer })));
  }

  /** What a reader makes of the answer. @throws CliError `unavailable`; `refused` for any status but 200 */
  async read<Value>(question: Question, reader: Reader<Value>): Promise<Value> {
    return expectStatus(await this.ask(question), 200).read(reader);
  }

  /** One try at the first node; any status is an answer. @throws CliError `unavailable` when there is none */
  async askOnce(question: Question): Promise<Answer> {
    try {
      return answerOf(await this.#once.request({ ...question, isAnswer: () => true }));
    } catch (error) {
      if (!(error instanceof AnchoringError)) throw error;
      throw new CliError(EXIT.unavailable, "unavailable", reasonOf(error));
    }
  }

  /** A call of the SDK's client. @throws CliError `unavailable`, `refused`, `answer_malformed`; `invalid`; `usage` */
  async call<Value>(use: (client: Client) => Promise<Value>): Promise<Value> {
    try {
      return await use(this.client);
    } catch (error) {
      if (error instanceof InvalidInput) throw usageOf(error);
      if (error instanceof VerificationError) throw new CliError(EXIT.invalid, error.code, error.message);
      if (error instanceof UnexpectedAnswer) throw malformed(error.endpoint, error);
      if (error instanceof ApiProblem && !isPassing(error.status)) throw refusedBy(error);
      throw error instanceof AnchoringError ? unavailable(error) : error;
    }
  }
}

function clientOf({ apiUrls, apiKey, timeoutMs, onWait }: ServiceOptions, retry: RetryRule): Client {
  try {
    return new Client({
      endpoints: apiUrls,
      apiKey: apiKey ?? undefined,
      // Who gives an address says how it is asked.
      allowPlainHttp: true,
      timeoutMs: TRY_TIMEOUT_MS,
      deadlineMs: timeoutMs,
      transport: serviceTransport,
      retry,
      onRetry: ({ error, delayMs }) => {
        if (delayMs > 0) onWait?.(reasonOf(error));
      },
    });
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw usageOf(error);
  }
}

function usageOf({ code, message }: InvalidInput): CliError {
  return new CliError(EXIT.usage, code, message);
}

/** Every node is asked once before any is waited for. */
function inTurn({ apiUrls, timeoutMs }: ServiceOptions): RetryRule {
  const policy = { attemptsMax: Number.MAX_SAFE_INTEGER, totalMs: timeoutMs, ...BACKOFF };
  return (outcome, situation) => {
    const attempt = Math.ceil(situation.attempt / apiUrls.length);
    if (situation.attempt % apiUrls.length === 0) {
      return delayBeforeRetry(policy, outcome, { ...situation, attempt });
    }
    const unhinted = outcome.kind === "answered" ? { ...outcome, retryAfterMs: null } : outcome;
    return delayBeforeRetry(policy, unhinted, { ...situation, attempt }) === null ? null : 0;
  };
}

/** No node has answered: the newest reason. */
export function unavailable(error: AnchoringError): CliError {
  return new CliError(EXIT.unavailable, "unavailable", `no node could answer: ${reasonOf(error)}`);
}

/** Why a node did not answer, in plain words. */
function reasonOf(error: AnchoringError): string {
  const { endpoint, cause } = error;
  return `${endpoint ?? ""}: ${cause instanceof TransportFailure ? cause.message : textOf(error)}`;
}

function textOf(error: AnchoringError): string {
  if (!(error instanceof ApiProblem)) return error.message;
  return problemText(error.status, error.members);
}

/** Code and explanation of a problem document, or the bare status. */
function problemText(status: number, { code, detail }: Fields): string {
  return typeof code === "string" ? `${code}: ${typeof detail === "string" ? detail : ""}` : `status ${status}`;
}

/** What a refusal is called, of a call that throws it. */
export function refusedBy({ status, endpoint, members }: ApiProblem): CliError {
  return refusal(new Answer(status, endpoint ?? "", members));
}

/** @returns the answer, if its status is one of these @throws CliError `refused` with the problem's code otherwise */
export function expectStatus(answer: Answer, ...statuses: readonly number[]): Answer {
  if (statuses.includes(answer.status)) return answer;
  throw refusal(answer);
}

function refusal(answer: Answer): CliError {
  const code = typeof answer.body.code === "string" ? answer.body.code : `status_${answer.status}`;
  const errors: readonly unknown[] = Array.isArray(answer.body.errors) ? answer.body.errors : [];
  const faults = errors.flatMap((error) => faultText(error, answer.body.detail));
  // What the faults say, the problem itself need not point at.
  const said = faults.length > 0 && code === "invalid_request" ? code : problemText(answer.status, answer.body);
  return new CliError(EXIT.refused, code, `${answer.apiUrl} refused: ${[said, ...faults].join("; ")}`);
}

/** One fault of a problem: where, and what, unless the problem has said it. */
function faultText(error: unknown, detail: unknown): readonly string[] {
  if (!isRecord(error)) return [];
  const where = typeof error.pointer === "string" ? error.pointer : error.parameter;
  if (typeof where !== "string") return [];
  return [error.detail === detail ? `at ${where}` : `${where}: ${String(error.detail)}`];
}
