import { connect } from "node:tls";

/** When the certificate ends that a TLS listener shows; null if it cannot be learnt. Nothing is trusted by it. */
export async function certificateExpiryOf(host: string, port: number, timeoutMs: number): Promise<number | null> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, rejectUnauthorized: false, servername: "" });
    const end = (expiresMs: number | null): void => {
      socket.destroy();
      resolve(expiresMs);
    };
    socket.setTimeout(timeoutMs, () => end(null));
    // A listener that wants a certificate of ours says so after it has shown its own.
    socket.once("error", () => end(null));
    socket.once("secureConnect", () => {
      const { valid_to: text } = socket.getPeerCertificate();
      const expiresMs = Date.parse(typeof text === "string" ? text : "");
      end(Number.isNaN(expiresMs) ? null : expiresMs);
    });
  });
}
