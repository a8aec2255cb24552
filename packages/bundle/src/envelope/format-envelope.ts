import { isOverUtf8Bytes } from "../json/text-size.ts";
import { canonicalContent, canonicalText } from "./content-json.ts";
import { EnvelopeError } from "./envelope-error.ts";
import { ENVELOPE_FORMAT, ENVELOPE_LIMITS } from "./envelope.ts";
import type { Envelope, EnvelopeAttachment } from "./envelope.ts";
import { assertMembers } from "./envelope-members.ts";

function attachmentText({ name, contentType, size, hash }: EnvelopeAttachment): string {
  const type = `"content_type":${JSON.stringify(contentType)},"hash":"${hash}"`;
  return `{${type},"name":${canonicalText(name, "the name of an attachment")},"size":${size}}`;
}

/**
 * The canonical JSON, which is hashed and kept.
 * @throws EnvelopeError `envelope_malformed`, `envelope_number_unsafe`, `envelope_too_large`
 */
export function formatEnvelope(envelope: Envelope): string {
  assertMembers(envelope);
  const { what, when, who, contentType, content, attachments, salt } = envelope;
  // The names ascend, as RFC 8785 orders them.
  const listed = attachments.length === 0 ? "" : `"attachments":[${attachments.map(attachmentText).join(",")}],`;
  const said =
    "json" in content
      ? `"content":${canonicalContent(content.json, "content", ENVELOPE_LIMITS.nestingMax - 1)},`
      : `"content_hash":"${content.hash}","content_size":${content.size},`;
  const type = `"content_type":${JSON.stringify(contentType)},"format":"${ENVELOPE_FORMAT}",`;
  const salted = salt === null ? "" : `"salt":"${salt}",`;
  const acted = who === null ? "" : `,"who":${canonicalText(who, "who")}`;
  const text = `{${listed}${said}${type}${salted}"what":${canonicalText(what, "what")},"when":"${when}"${acted}}`;
  const { bytesMax } = ENVELOPE_LIMITS;
  if (isOverUtf8Bytes(text, bytesMax)) throw new EnvelopeError("envelope_too_large", `over ${bytesMax} bytes`);
  return text;
}
