/** Makes receipts whole that name their checkpoint by its place in the answer. */
import { listOf, listOrNone, readCount, readObject, refuse } from "./answer-reader.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** @param named of the answer: what the receipts share */
function wholeItem(item: JsonObject, named: readonly JsonObject[], path: string): JsonObject {
  const shared = item["shared_receipt"];
  if (shared === undefined || shared === null) return item;
  const { checkpoint: place, ...own } = readObject(shared, `${path}.shared_receipt`);
  const checkpoint = named[readCount(place, `${path}.shared_receipt.checkpoint`)];
  if (checkpoint === undefined) return refuse(`${path}.shared_receipt.checkpoint`, "the place of a checkpoint");
  const { anchor_id } = readObject(item["anchor"], `${path}.anchor`);
  return { ...item, receipt: { anchor_id, ...own, ...checkpoint } };
}

/** The same answer to a batch with a whole receipt in each item that has one. @throws UnexpectedAnswer */
export function withWholeReceipts(value: unknown, path: string): JsonObject {
  const answer = readObject(value, path);
  const named = listOrNone(readObject)(answer["checkpoints"], `${path}.checkpoints`);
  const items = listOf(readObject)(answer["results"], `${path}.results`);
  return { ...answer, results: items.map((item, at) => wholeItem(item, named, `${path}.results[${at}]`)) };
}
