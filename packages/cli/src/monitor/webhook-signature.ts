/** Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
import { createHmac } from "node:crypto";
import { createSigner } from "@event-anchoring/node-crypto";
import { CliError, EXIT } from "../terminal/cli-error.ts";

/** Signs `{id}.{timestamp}.{body}`. */
export type SignWebhook = (content: Uint8Array) => string;

const HMAC_PREFIX = "whsec_";
const ED25519_PREFIX = "whsk_";

function bytesOf(text: string): Uint8Array {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? Uint8Array.from(bytes) : new Uint8Array(0);
}

function signWith(key: string): SignWebhook | null {
  if (key.startsWith(HMAC_PREFIX)) {
    const secret = bytesOf(key.slice(HMAC_PREFIX.length));
    if (secret.length < 24 || secret.length > 64) return null;
    return (content) => `v1,${createHmac("sha256", secret).update(content).digest("base64")}`;
  }
  const pair = key.startsWith(ED25519_PREFIX) ? bytesOf(key.slice(ED25519_PREFIX.length)) : new Uint8Array(0);
  // The seed, with or without the public key behind it.
  if (pair.length !== 32 && pair.length !== 64) return null;
  const signer = createSigner(pair.slice(0, 32));
  return (content) => `v1a,${Buffer.from(signer.sign(content)).toString("base64")}`;
}

/** A key for each line, each of which signs: two while one replaces the other. @throws CliError `usage` */
export function readWebhookKeys(text: string): readonly SignWebhook[] {
  const lines = text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]));
  const keys = lines.map(signWith);
  const isGood = (key: SignWebhook | null): key is SignWebhook => key !== null;
  if (keys.length > 0 && keys.every(isGood)) return keys;
  const message = "a webhook key is whsec_ and 24 to 64 bytes in base64, or whsk_ and an Ed25519 secret key";
  throw new CliError(EXIT.usage, "webhook_key_invalid", message);
}

/** The three headers of one attempt. */
export function webhookHeaders(
  keys: readonly SignWebhook[],
  { id, body, timestampS }: { readonly id: string; readonly body: string; readonly timestampS: number },
): Readonly<Record<string, string>> {
  const content = new TextEncoder().encode(`${id}.${timestampS}.${body}`);
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestampS),
    "webhook-signature": keys.map((sign) => sign(content)).join(" "),
  };
}
