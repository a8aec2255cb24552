/** Certificate and key of the public listener: read, checked, and reloaded when their files have changed. */
import { X509Certificate, constants, createPrivateKey } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { SecureContextOptions, Server } from "node:tls";
import { SettingsError } from "@event-anchoring/control-contract";
import type { Logger } from "@event-anchoring/telemetry";

/** The same interval as the control plane's. */
const LOOK_INTERVAL_MS = 5000;

/** PEM files. Chain certificates follow the server's own; the key has mode 0600. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

/** What was read, as Node takes it. */
export interface TlsMaterial {
  readonly context: SecureContextOptions;
  /** Unix milliseconds. */
  readonly expiresMs: number;
  /** Changes when a file does. */
  readonly fileVersion: string;
}

/** @throws SettingsError for an unreadable file, a key that others can read, or one that is of another certificate */
export function loadTls(files: TlsFiles): TlsMaterial {
  const fileVersion = versionOf(files);
  const cert = readText(files.certificate);
  const key = readText(files.key);
  const context: SecureContextOptions = {
    cert,
    key,
    minVersion: "TLSv1.2",
    // Tickets would outlive the certificate that they were issued under.
    secureOptions: constants.SSL_OP_NO_TICKET,
  };
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error("the key is of another certificate");
    createSecureContext(context);
  } catch (cause) {
    throw new SettingsError(`${files.certificate} and ${files.key} are no certificate and its key`, { cause });
  }
  return { context, expiresMs: Date.parse(certificate.validTo), fileVersion };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new SettingsError(`cannot read ${path}`, { cause });
  }
}

function versionOf({ certificate, key }: TlsFiles): string {
  try {
    const all = [certificate, key].map((path) => statSync(path));
    if (((all[1]?.mode ?? 0o777) & 0o077) !== 0) throw new SettingsError(`${key} is readable by others; chmod 600 it`);
    return all.map(({ ino, mtimeMs, size }) => `${ino}:${mtimeMs}:${size}`).join(",");
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    throw new SettingsError(`cannot read ${certificate} or ${key}`, { cause: error });
  }
}

type Listener = Pick<Server, "setSecureContext" | "once">;

/**
 * Watches the files for a listener: new connections get the new certificate, open ones keep theirs. Files that do not
 * match each other change nothing.
 */
export class ListenerTls {
  readonly #files: TlsFiles;
  readonly #logger: Logger;
  #material: TlsMaterial;
  #refused = "";
  #server: Listener | null = null;

  /** @throws SettingsError */
  constructor(files: TlsFiles, logger: Logger) {
    this.#files = files;
    this.#logger = logger;
    this.#material = loadTls(files);
  }

  /** The context to create the listener with. */
  get context(): SecureContextOptions {
    return this.#material.context;
  }

  /** When the certificate in use expires, Unix milliseconds. */
  get expiresMs(): number {
    return this.#material.expiresMs;
  }

  /** Until the listener closes. */
  follow(server: Listener): void {
    this.#server = server;
    const timer = setInterval(() => this.look(), LOOK_INTERVAL_MS);
    timer.unref();
    server.once("close", () => clearInterval(timer));
  }

  /** Loads changed files. A fault is logged once for each state of the files. */
  look(): void {
    let fileVersion = "unreadable";
    try {
      fileVersion = versionOf(this.#files);
      if (fileVersion === this.#material.fileVersion || fileVersion === this.#refused) return;
      this.#material = loadTls(this.#files);
      this.#server?.setSecureContext(this.#material.context);
      this.#logger.info("tls_reloaded", { expires_at: new Date(this.expiresMs).toISOString() });
      this.#refused = "";
    } catch (error) {
      if (fileVersion !== this.#refused) this.#logger.warn("tls_reload_failed", { err: error });
      this.#refused = fileVersion;
    }
  }
}
