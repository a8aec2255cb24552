/**
 * Commands as bytes. One value has one encoding: bytes that would not encode back to themselves are refused, so that a
 * command can be compared, hashed and counted by its bytes.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  asciiToBytes,
  assertNever,
  bytesToAscii,
  bytesToUtf8,
  isNodeId,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import {
  readCreateApiKey,
  readRevokeApiKey,
  readRotateApiKey,
  writeCreateApiKey,
  writeRevokeApiKey,
  writeRotateApiKey,
} from "./api-key-codec.ts";
import type { Command, CommandKind, OperatorActCommand, OperatorCommand } from "./command.ts";
import { readRecordEvents, writeRecordEvents } from "./event-codec.ts";
import { LIMITS } from "./limits.ts";
import {
  readEraseClientEvent,
  readRecordClaim,
  readRecordGrant,
  readRecordRevocation,
  writeEraseClientEvent,
  writeRecordClaim,
  writeRecordGrant,
  writeRecordRevocation,
} from "./record-codec.ts";

const COMMAND_VERSION = 1;
const COMMAND_TAG: Readonly<Record<CommandKind, number>> = {
  genesis: 1,
  trust_root: 2,
  record_events: 3,
  create_api_key: 4,
  mark_certify_point: 5,
  record_claim: 6,
  record_grant: 7,
  record_revocation: 8,
  erase_client_event: 9,
  revoke_api_key: 10,
  rotate_api_key: 11,
  raise_rules: 12,
  operator_act: 13,
  mark_state_point: 14,
};

function writeDocument(writer: ByteWriter, document: string): void {
  const bytes = utf8ToBytes(document);
  if (bytes.length > LIMITS.trustRootBytesMax)
    throw new RangeError(`a trust root of ${bytes.length} bytes is too large`);
  writer.lengthPrefixed32(bytes);
}

function readDocument(reader: ByteReader): string {
  const length = reader.u32();
  if (length > LIMITS.trustRootBytesMax)
    throw new DecodeError("length_wrong", `a trust root of ${length} bytes is too large`);
  try {
    return bytesToUtf8(reader.view(length));
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    throw new DecodeError("value_invalid", "the trust root is not UTF-8");
  }
}

/** True if only an operator's act may hold it: changes of the key table, and commands without an API key. */
export function isOperatorCommand(command: Command): command is OperatorCommand {
  switch (command.kind) {
    case "create_api_key":
    case "revoke_api_key":
    case "rotate_api_key":
      return true;
    case "record_revocation":
    case "erase_client_event":
      return command.credential === null;
    case "genesis":
    case "trust_root":
    case "record_events":
    case "record_claim":
    case "record_grant":
    case "operator_act":
    case "mark_certify_point":
    case "mark_state_point":
    case "raise_rules":
      return false;
    default:
      return assertNever(command);
  }
}

function writeOperatorAct(writer: ByteWriter, { operator, counter, signature, command }: OperatorActCommand): void {
  if (!isNodeId(operator)) throw new RangeError(`not a name of an operator: ${operator}`);
  writer.lengthPrefixed16(asciiToBytes(operator)).u64(counter).bytes(signature, 64);
  writeCommand(writer, command);
}

function readOperatorAct(reader: ByteReader): OperatorActCommand {
  const name = reader.lengthPrefixed16();
  const operator = name.every((byte) => byte < 0x80) ? bytesToAscii(name) : "";
  if (!isNodeId(operator)) throw new DecodeError("value_invalid", "not a name of an operator");
  const counter = reader.u64();
  const signature = reader.bytes(64);
  const command = readCommand(reader);
  if (!isOperatorCommand(command)) throw new DecodeError("value_invalid", `${command.kind} is no act of an operator`);
  return { kind: "operator_act", operator, counter, signature, command };
}

export function writeCommand(writer: ByteWriter, command: Command): void {
  writer.u8(COMMAND_VERSION).u8(COMMAND_TAG[command.kind]);
  switch (command.kind) {
    case "genesis":
    case "trust_root":
      return writeDocument(writer, command.document);
    case "record_events":
      return writeRecordEvents(writer, command);
    case "record_claim":
      return writeRecordClaim(writer, command);
    case "record_grant":
      return writeRecordGrant(writer, command);
    case "record_revocation":
      return writeRecordRevocation(writer, command);
    case "erase_client_event":
      return writeEraseClientEvent(writer, command);
    case "create_api_key":
      return writeCreateApiKey(writer, command);
    case "revoke_api_key":
      return writeRevokeApiKey(writer, command);
    case "rotate_api_key":
      return writeRotateApiKey(writer, command);
    case "operator_act":
      return writeOperatorAct(writer, command);
    case "mark_certify_point":
    case "mark_state_point":
      return;
    case "raise_rules":
      writer.u16(command.rules);
      return;
    default:
      assertNever(command);
  }
}

export function readCommand(reader: ByteReader): Command {
  const version = reader.u8();
  const commandTag = reader.u8();
  if (version !== COMMAND_VERSION)
    throw new DecodeError("value_invalid", `unknown version ${version} of command ${commandTag}`);
  switch (commandTag) {
    case COMMAND_TAG.genesis:
      return { kind: "genesis", document: readDocument(reader) };
    case COMMAND_TAG.trust_root:
      return { kind: "trust_root", document: readDocument(reader) };
    case COMMAND_TAG.record_events:
      return readRecordEvents(reader);
    case COMMAND_TAG.record_claim:
      return readRecordClaim(reader);
    case COMMAND_TAG.record_grant:
      return readRecordGrant(reader);
    case COMMAND_TAG.record_revocation:
      return readRecordRevocation(reader);
    case COMMAND_TAG.erase_client_event:
      return readEraseClientEvent(reader);
    case COMMAND_TAG.create_api_key:
      return readCreateApiKey(reader);
    case COMMAND_TAG.revoke_api_key:
      return readRevokeApiKey(reader);
    case COMMAND_TAG.rotate_api_key:
      return readRotateApiKey(reader);
    case COMMAND_TAG.operator_act:
      return readOperatorAct(reader);
    case COMMAND_TAG.mark_state_point:
      return { kind: "mark_state_point" };
    case COMMAND_TAG.mark_certify_point:
      return { kind: "mark_certify_point" };
    case COMMAND_TAG.raise_rules:
      return { kind: "raise_rules", rules: reader.u16() };
    default:
      throw new DecodeError("kind_unknown", `unknown command ${commandTag}`);
  }
}

/** @throws RangeError if a field is out of its bounds */
export function encodeCommand(command: Command): Uint8Array {
  const writer = new ByteWriter(256);
  writeCommand(writer, command);
  return writer.finish();
}

/** Reads bytes that may be attacker-controlled. @throws DecodeError */
export function decodeCommand(bytes: Uint8Array): Command {
  const reader = new ByteReader(bytes);
  const command = readCommand(reader);
  reader.finish();
  return command;
}
