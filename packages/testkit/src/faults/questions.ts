import { isDeepStrictEqual } from "node:util";
import { hexToBytes } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import { LoadClient } from "../clients/load-client.ts";
import type { LoadAnswer } from "../clients/load-client.ts";
import type { TestCluster } from "../cluster/test-cluster.ts";
import { trustRootsOf } from "../cluster/trust-roots.ts";
import type { AnchoredRecord } from "./recorder.ts";
import { receiptFault, signedFaults } from "./signed-parts.ts";

/** Something that every node answers alike, as long as nobody writes. */
export interface Question {
  readonly path: string;
  /** Null: GET. */
  readonly body: string | null;
  /** Whose receipt the answer holds; null: nobody's. */
  readonly about: AnchoredRecord | null;
}

const CONNECTIONS = 6;
/** How often a node that is overloaded is asked again at once. */
const TRIES = 3;
const ANSWER_TIMEOUT_MS = 8000;
const SHOWN_MAX = 300;
const VERIFIED_AT_ONCE = 50;
/**
 * What differs from node to node: times of the answer and texts that hold them, and what a quorum has signed, which is
 * verified instead. That it is there is compared.
 */
const VOLATILE = new Set([
  "as_of",
  "detail",
  "request_id",
  "receipt",
  "checkpoint",
  "quorum",
  "certified_at",
  "cosignatures",
]);

/** What can be asked about these records, and about the origins. */
export function questionsAbout({ cluster }: TestCluster, records: readonly AnchoredRecord[]): readonly Question[] {
  const get = (path: string, about: AnchoredRecord | null = null): Question => ({ path, body: null, about });
  const ofRecords = records.flatMap((record) => {
    const { kind, anchorId: id, content, clientEventId } = record;
    const read = get(`/v1/event-anchors/${id}`, record);
    if (kind === "claim" || kind === "grant") {
      const body = JSON.stringify({ anchor_id: id });
      return [read, { path: `/v1/${kind}-anchors:verify`, body, about: null }];
    }
    if (kind === "revocation") return [read];
    const byId =
      clientEventId === null ? [] : [get(`/v1/event-anchors?client_event_id=${encodeURIComponent(clientEventId)}`)];
    return [read, get(`/v1/event-anchors/${id}/trace`), get(`/v1/event-anchors?event_hash=${content}`), ...byId];
  });
  const verifications = pagesOf(records, VERIFIED_AT_ONCE).map((page) => {
    const anchors = page.map(({ anchorId }) => ({ anchor_id: anchorId }));
    return { path: "/v1/event-anchors:batchVerify", body: JSON.stringify({ anchors }), about: null };
  });
  const ofOrigins = cluster.file.nodes.flatMap(({ origin_fingerprint: origin }) => [
    get(`/v1/event-anchors/latest?origin_fingerprint=${origin}`),
    get(`/v1/event-anchors/consistency?origin_fingerprint=${origin}&from_size=1`),
    get(`/v1/origins/${origin}/tile/0/000`),
    get(`/v1/origins/${origin}/tile/entries/000`),
  ]);
  return [...ofRecords, ...verifications, ...ofOrigins];
}

/** Status 0: no answer. */
export async function answersAt(
  setup: TestCluster,
  nodeId: string,
  questions: readonly Question[],
): Promise<readonly LoadAnswer[]> {
  const { api_url: apiUrl } = setup.entry(nodeId);
  const client = new LoadClient({ apiUrl, apiKey: setup.apiKey, connections: CONNECTIONS });
  const ask = async ({ path, body }: Question, tries = TRIES): Promise<LoadAnswer> => {
    try {
      const asked = body === null ? client.get(path, ANSWER_TIMEOUT_MS) : client.post(path, body, ANSWER_TIMEOUT_MS);
      const answer = await asked;
      const isBusy = answer.status === 503 && answer.text.includes('"code":"overloaded"');
      return isBusy && tries > 1 ? await ask({ path, body, about: null }, tries - 1) : answer;
    } catch (error) {
      // No listener, or no answer in time: that is no wrong answer.
      return { status: 0, text: String(error) };
    }
  };
  try {
    return await Promise.all(questions.map((question) => ask(question)));
  } finally {
    await client.close();
  }
}

/** Whether a node refuses: it gives no answer at all, or a 503 with the code of a problem. */
export function isRefusal({ status, text }: LoadAnswer): boolean {
  return status === 0 || (status === 503 && /"code":"\w+"/.test(text));
}

/** A line for every answer that is no refusal, and not what a sound node has said or not well signed. */
export function wrongAnswers(
  setup: TestCluster,
  asked: readonly Question[],
  sound: readonly LoadAnswer[],
  given: readonly LoadAnswer[],
): readonly string[] {
  const trustRoots = trustRootsOf(setup.cluster.file.trust_root);
  return asked.flatMap(({ path, about }, at) => {
    const [wanted, answer] = [sound[at], given[at]];
    if (wanted === undefined || answer === undefined) throw new Error("every question has an answer");
    if (isRefusal(answer)) return [];
    if (!isDeepStrictEqual(comparable(answer), comparable(wanted))) {
      return [`${path}: ${answer.status} ${differing(answer, wanted)}; a sound node: ${differing(wanted, answer)}`];
    }
    return badlySigned(answer, about, trustRoots).map((line) => `${path}: ${line}`);
  });
}

/** What is wrong with receipts and checkpoints of an answer. Tiles and problems have none. */
function badlySigned(answer: LoadAnswer, about: AnchoredRecord | null, trustRoots: TrustRootChain): readonly string[] {
  const { body } = readBody(answer);
  if (answer.status !== 200 || typeof body !== "object" || body === null) return [];
  const faults = signedFaults(body, trustRoots);
  if (about === null) return faults;
  const { anchorId, kind, content } = about;
  const event = kind === "event" || kind === "signed_event" ? { eventHash: hexToBytes(content, 32) } : {};
  const expect = { anchorId: hexToBytes(anchorId, 32), ...event };
  const fault = receiptFault((body as { readonly receipt?: unknown }).receipt, trustRoots, expect);
  return fault === null ? faults : [fault, ...faults];
}

/** The parts of an answer that another one does not have. */
function differing(answer: LoadAnswer, other: LoadAnswer): string {
  const [{ body }, { body: otherBody }] = [comparable(answer), comparable(other)];
  if (typeof body !== "object" || typeof otherBody !== "object") return answer.text.slice(0, SHOWN_MAX);
  const others = new Map(Object.entries(otherBody ?? {}));
  const own = Object.entries(body ?? {}).filter(([name, value]) => !isDeepStrictEqual(value, others.get(name)));
  return JSON.stringify(Object.fromEntries(own)).slice(0, SHOWN_MAX);
}

interface ReadAnswer {
  readonly status: number;
  readonly body: unknown;
}

function comparable(answer: LoadAnswer): ReadAnswer {
  const { status, body } = readBody(answer);
  return { status, body: withoutVolatile(body) };
}

function readBody({ status, text }: LoadAnswer): ReadAnswer {
  try {
    return { status, body: JSON.parse(text) };
  } catch {
    // Tiles are bytes.
    return { status, body: text };
  }
}

function withoutVolatile(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutVolatile);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => {
    return [name, VOLATILE.has(name) ? kindOf(member) : withoutVolatile(member)];
  });
  return Object.fromEntries(members);
}

function kindOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function pagesOf<Item>(items: readonly Item[], size: number): readonly (readonly Item[])[] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
}
