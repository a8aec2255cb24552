/** What a write answers for one record: as an object, and as the bytes that JSON.stringify makes of that object. */
import { anchorToJson } from "@event-anchoring/api-contract";
import type { AnchorView, CreatedAnswer } from "@event-anchoring/api-contract";
import { assertNever, bytesToHex } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import { receiptAnswer } from "../reading/anchor-view.ts";
import { writeAnchor, writeReceipt, writeSharedReceipt } from "./anchor-writer.ts";
import type { ProvedLeaf } from "./anchor-writer.ts";
import { JSON_MEDIA_TYPE } from "./handler.ts";
import type { HandlerAnswer, Headers } from "./handler.ts";
import { JsonWriter } from "./json-writer.ts";
import type { SharedCheckpoints } from "./shared-receipts.ts";

/** A record that this request has appended. */
export interface AppendedRecord {
  readonly kind: "appended";
  readonly view: AnchorView;
  /** null while the anchor is only committed. */
  readonly proved: ProvedLeaf | null;
  /** Its receipt is under a witnessed head. */
  readonly isWitnessed?: true;
}

/** A record that was there before, as it was found now. */
export interface ReplayedRecord {
  readonly kind: "replayed";
  readonly answer: CreatedAnswer;
  /** Its receipt is under a witnessed head. */
  readonly isWitnessed?: true;
}

export type CreatedRecord = AppendedRecord | ReplayedRecord;

/** 201 for a new record, 200 for a replay, 202 for one that is committed and not yet certified. */
export function createdStatus(record: CreatedRecord): 200 | 201 | 202 {
  if (record.kind === "appended") return record.proved === null ? 202 : 201;
  return record.answer.receipt === null ? 202 : 200;
}

export function createdJson(record: CreatedRecord, sha256: Sha256): CreatedAnswer {
  switch (record.kind) {
    case "appended": {
      const { view, proved } = record;
      const receipt =
        proved === null ? null : receiptAnswer({ ...proved, ...proved.certificate }, proved.certificate, sha256);
      return { anchor: anchorToJson(view), receipt, replayed: false };
    }
    case "replayed":
      return record.answer;
    default:
      return assertNever(record);
  }
}

const BEGIN = Buffer.from("{");
const END = Buffer.from("}");
const ANCHOR = Buffer.from('"anchor":');
const RECEIPT = Buffer.from(',"receipt":');
const NO_RECEIPT = Buffer.from(',"receipt":null');
const SHARED_RECEIPT = Buffer.from(',"shared_receipt":');
const NO_SHARED_RECEIPT = Buffer.from(',"shared_receipt":null');
const NEW = Buffer.from(',"replayed":false');

/** The fields of `createdJson`, without the braces around them. */
export function writeCreatedFields(writer: JsonWriter, record: CreatedRecord): void {
  if (record.kind === "replayed") {
    // There are few, and each has been made as an object, out of rows.
    writer.part(Buffer.from(JSON.stringify(record.answer).slice(1, -1)));
    return;
  }
  writeAnchor(writer.part(ANCHOR), record.view);
  if (record.proved === null) writer.part(NO_RECEIPT);
  else writeReceipt(writer.part(RECEIPT), record.proved);
  writer.part(NEW);
}

/** The same with `shared_receipt` in the place of `receipt`. */
export function writeSharedFields(writer: JsonWriter, record: CreatedRecord, shared: SharedCheckpoints): void {
  if (record.kind === "replayed") {
    const { anchor, receipt, replayed } = record.answer;
    const json = { anchor, shared_receipt: receipt === null ? null : shared.receiptJson(receipt), replayed };
    writer.part(Buffer.from(JSON.stringify(json).slice(1, -1)));
    return;
  }
  const { proved } = record;
  writeAnchor(writer.part(ANCHOR), record.view);
  if (proved === null) writer.part(NO_SHARED_RECEIPT);
  else writeSharedReceipt(writer.part(SHARED_RECEIPT), proved, shared.placeOf(proved.certificate));
  writer.part(NEW);
}

/** `Location` is where the anchor, and later its receipt, can be read: the same path for every kind. */
export function locationOf(record: CreatedRecord): Headers {
  const id = record.kind === "appended" ? bytesToHex(record.view.anchorId) : record.answer.anchor.anchor_id;
  return { Location: `/v1/event-anchors/${id}` };
}

/** An answer of more bytes is written all the same; nearly all have fewer. */
const ANSWER_BYTES = 4096;

/** The answer to a command that records one thing. */
export function createdResponse(record: CreatedRecord): HandlerAnswer {
  const writer = new JsonWriter(ANSWER_BYTES).part(BEGIN);
  writeCreatedFields(writer, record);
  const bytes = writer.part(END).finish();
  const { isWitnessed = false } = record;
  const status = createdStatus(record);
  return { status, headers: locationOf(record), isWitnessed, bytes, mediaType: JSON_MEDIA_TYPE };
}
