/** What doctor asks of the machine that it runs on. */
import type { X509Certificate } from "node:crypto";

export interface FileState {
  readonly isFolder: boolean;
  /** Permission bits. */
  readonly mode: number;
  /** Number of the account that it belongs to. */
  readonly owner: number;
  /** The file system that it is on. */
  readonly device: number;
  readonly changedMs: number;
  readonly bytes: number;
}

/**
 * What became of a connection.
 * - `open`          somebody has taken it.
 * - `refused`       nobody listens there.
 * - `silent`        no answer in time, as behind a firewall.
 * - `unknown_name`  the name has no address.
 * - `denied`        this account may not open the socket.
 * - `missing`       there is no such socket.
 * - `failed`        something else.
 */
export type Connecting = "open" | "refused" | "silent" | "unknown_name" | "denied" | "missing" | "failed";

export interface HttpAnswer {
  readonly status: number;
  readonly body: string;
  /** By the clock of whoever answers, to the second; null: it does not say. */
  readonly dateMs: number | null;
}

export type ListenerAddress = { readonly host: string; readonly port: number } | { readonly socket: string };

export interface Host {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** `20.19.0` */
  readonly nodeVersion: string;
  nowMs(): number;
  /** null: there is none, or this account may not know. */
  fileState(path: string): FileState | null;
  /** @throws the system's error */
  read(path: string): Uint8Array;
  /** Names in a folder; empty if it cannot be read. */
  names(folder: string): readonly string[];
  /** The free part of the file system, from 0 to 1; null: not known. */
  freeShare(path: string): number | null;
  connect(to: ListenerAddress): Promise<Connecting>;
  /** The certificate that a TLS listener shows, or that it shows none, or none in time. Nothing is trusted by it. */
  certificateOf(host: string, port: number): Promise<X509Certificate | "none" | "silent">;
  /** null: no answer. Whose answer it is, is not checked. */
  get(url: string): Promise<HttpAnswer | null>;
  /** Whether the system's clock is kept by a time server; null: the system does not say. */
  isClockKept(): Promise<boolean | null>;
}
