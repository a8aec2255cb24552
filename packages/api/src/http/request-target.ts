/** A scheme and an authority before the path, as clients of a proxy write a target (RFC 9112 section 3.2.2). */
const ABSOLUTE = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;

/**
 * The path and query that a request target names, as the router takes it: without scheme and authority, and with
 * colons as they are. An encoded colon is the same path (RFC 3986 section 6.2.2.2 allows both in a path), and some
 * clients encode it.
 * @param target attacker-controlled
 * @returns null for an absolute form that is no URL
 */
export function routedTarget(target: string): string | null {
  const authority = ABSOLUTE.exec(target)?.[0];
  if (authority !== undefined && !/^https?:\/\/[^@]+$/i.test(authority)) return null;
  if (authority !== undefined && !URL.canParse(authority)) return null;
  const [path = "", ...query] = target.slice(authority?.length ?? 0).split("?");
  const routed = [path.replaceAll(/%3a/gi, ":"), ...query].join("?");
  return authority === undefined || routed.startsWith("/") ? routed : `/${routed}`;
}
