/** Where a witness takes checkpoints: a small part of RFC 3986, so that every language reads it alike. */
import { parseDecimal } from "./checkpoint.ts";

const URL_LENGTH_MAX = 256;
const PORT_MAX = 65_535;
const LABEL = "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?";
const HOST = `${LABEL}(?:\\.${LABEL})*|\\[[0-9a-f:.]{2,45}\\]`;
const PATH = "/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*";
const URL_PARTS = new RegExp(`^(https?)://(${HOST})(?::([0-9]{1,5}))?(?:${PATH})?$`);
/** Hosts that need no TLS: nothing leaves the machine. */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

/**
 * `https://<host>[:<port>][<path>]`, or `http://` to a loopback host; at most 256 ASCII characters, the host in lower
 * case, no user, query or fragment.
 */
export function isWitnessUrl(url: string): boolean {
  const parts = url.length > URL_LENGTH_MAX ? null : URL_PARTS.exec(url);
  if (parts === null) return false;
  const [, scheme, host = "", port] = parts;
  const isPort = port === undefined || isPortNumber(parseDecimal(port));
  return isPort && (scheme === "https" || LOOPBACK_HOSTS.includes(host));
}

function isPortNumber(value: number | null): boolean {
  return value !== null && value >= 1 && value <= PORT_MAX;
}
