import type { LatestAnchor, ShownCertificate } from "@event-anchoring/control-contract";
import type { StoredAnchor } from "@event-anchoring/store";
import type { Caller } from "../access/auth.ts";
import { seesClientEventsOf } from "./anchor-view.ts";

interface Kept<T> {
  readonly answer: T;
  /** The API client that sees more than this answer shows; null: nobody does. */
  readonly writer: Uint8Array | null;
}

/**
 * Finished answers about the last leaf under a certificate. Every linearizable read names the certificate that it shows
 * as one object, so a new certificate is a new key, and an answer goes when nobody can ask for it any more.
 *
 * Invariant: an answer that shows a client event id is found only by a reader who may see it, and only while the
 * control plane says that it is not erased.
 */
export class LatestAnswers<T> {
  /** Without a client event id: true for as long as the certificate is shown. */
  readonly #plain = new WeakMap<ShownCertificate, Kept<T>>();
  /** With it: true until it is erased, which makes another object. */
  readonly #withId = new WeakMap<LatestAnchor, T>();

  find(certificate: ShownCertificate, latest: LatestAnchor | null, caller: Caller): T | null {
    const plain = this.#plain.get(certificate);
    if (plain !== undefined && !seesMore(plain.writer, caller)) return plain.answer;
    if (latest === null || !seesMore(latest.clientEvent?.apiClientId ?? null, caller)) return null;
    return this.#withId.get(latest) ?? null;
  }

  /** Keeps the answer made for a caller. @param clientEvent that of the leaf, whoever asked */
  keep(
    answer: T,
    { certificate, latest }: { readonly certificate: ShownCertificate; readonly latest: LatestAnchor | null },
    clientEvent: StoredAnchor["clientEvent"],
    caller: Caller,
  ): void {
    const writer = clientEvent?.apiClientId ?? null;
    if (!seesMore(writer, caller)) this.#plain.set(certificate, { answer, writer });
    else if (latest !== null) this.#withId.set(latest, answer);
  }
}

function seesMore(writer: Uint8Array | null, caller: Caller): boolean {
  return writer !== null && seesClientEventsOf(writer, caller);
}
