/** From accept to a verified hello or unary header: TLS, HTTP head, first frame or body. */
export const PENDING_MS = 5000;
/** Connections that are late, or silent, are looked for this often. */
export const SWEEP_MS = 500;
/** From the start of a dial to the peer's answer to our hello. */
export const DIAL_TIMEOUT_MS = 3000;
/** A process that is about to judge may have been suspended for a moment. */
const MARGIN_MS = 500;

/**
 * No hello is older than this when it is judged: its connection would have been closed. The dialler makes its hello
 * after the connection was accepted, the listener while the dialler waits.
 */
export const HELLO_AGE_MAX_MS = Math.max(PENDING_MS + SWEEP_MS, DIAL_TIMEOUT_MS) + MARGIN_MS;
