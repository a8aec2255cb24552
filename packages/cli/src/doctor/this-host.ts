/** The machine that doctor runs on. It reads, connects, and writes nothing. */
import { execFile } from "node:child_process";
import type { X509Certificate } from "node:crypto";
import { readFileSync, readdirSync, statSync, statfsSync } from "node:fs";
import { get as getOverHttp } from "node:http";
import { get as getOverTls } from "node:https";
import { connect as connectTo } from "node:net";
import { connect as connectOverTls } from "node:tls";
import { isRecord } from "../files/nearest-cluster.ts";
import type { Connecting, FileState, Host, HttpAnswer, ListenerAddress } from "./host.ts";

const TIMEOUT_MS = 3000;
/** A chain of trust roots is the largest answer: 256 KiB at most for each version. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** Codes of the system, as doctor tells them apart. */
const CONNECTING: Readonly<Record<string, Connecting>> = {
  ECONNREFUSED: "refused",
  ETIMEDOUT: "silent",
  EHOSTUNREACH: "silent",
  ENETUNREACH: "silent",
  ENOTFOUND: "unknown_name",
  EAI_AGAIN: "unknown_name",
  EACCES: "denied",
  EPERM: "denied",
  ENOENT: "missing",
};

export function thisHost(environment: Host["environment"]): Host {
  return {
    environment,
    nodeVersion: process.versions.node,
    nowMs: () => Date.now(),
    fileState,
    read: (path) => readFileSync(path),
    names: namesIn,
    freeShare,
    connect,
    certificateOf,
    get,
    isClockKept,
  };
}

function fileState(path: string): FileState | null {
  try {
    const state = statSync(path);
    const { mode, uid: owner, dev: device, mtimeMs: changedMs, size: bytes } = state;
    return { isFolder: state.isDirectory(), mode: mode & 0o7777, owner, device, changedMs, bytes };
  } catch {
    // There is none, or this account may not know: doctor says both in one sentence.
    return null;
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    // As a folder without files: what is missing in it is named.
    return [];
  }
}

function freeShare(path: string): number | null {
  try {
    const { bavail, blocks } = statfsSync(path);
    return blocks === 0 ? null : bavail / blocks;
  } catch {
    // The folder is named by the check that looks for it.
    return null;
  }
}

async function connect(to: ListenerAddress): Promise<Connecting> {
  return new Promise((resolve) => {
    const socket = "socket" in to ? connectTo({ path: to.socket }) : connectTo(to);
    const end = (connecting: Connecting): void => {
      socket.destroy();
      resolve(connecting);
    };
    socket.setTimeout(TIMEOUT_MS, () => end("silent"));
    socket.once("connect", () => end("open"));
    socket.once("error", (error) => end(CONNECTING[codeOf(error)] ?? "failed"));
  });
}

async function certificateOf(host: string, port: number): Promise<X509Certificate | "none" | "silent"> {
  return new Promise((resolve) => {
    const socket = connectOverTls({ host, port, rejectUnauthorized: false, servername: "" });
    const end = (certificate: X509Certificate | "none" | "silent"): void => {
      socket.destroy();
      resolve(certificate);
    };
    socket.setTimeout(TIMEOUT_MS, () => end("silent"));
    // A listener that wants a certificate of ours says so after it has shown its own.
    socket.once("error", () => end("none"));
    socket.once("secureConnect", () => end(socket.getPeerX509Certificate() ?? "none"));
  });
}

async function get(url: string): Promise<HttpAnswer | null> {
  return new Promise((resolve) => {
    const ask = url.startsWith("https:") ? getOverTls : getOverHttp;
    const request = ask(url, { rejectUnauthorized: false, timeout: TIMEOUT_MS }, (response) => {
      let body = "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        body += text;
        if (body.length > ANSWER_BYTES_MAX) request.destroy();
      });
      response.on("error", () => resolve(null));
      response.on("end", () => {
        const dateMs = Date.parse(response.headers.date ?? "");
        resolve({ status: response.statusCode ?? 0, body, dateMs: Number.isNaN(dateMs) ? null : dateMs });
      });
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(null));
    request.on("close", () => resolve(null));
  });
}

/** As the kernel has it, whichever program keeps the time; a machine without systemd does not say. */
async function isClockKept(): Promise<boolean | null> {
  const args = ["show", "--property=NTPSynchronized", "--value"];
  return new Promise((resolve) => {
    execFile("timedatectl", args, { timeout: TIMEOUT_MS }, (error, stdout) => {
      const text = stdout.trim();
      resolve(error === null && (text === "yes" || text === "no") ? text === "yes" : null);
    });
  });
}

function codeOf(error: unknown): string {
  return isRecord(error) && typeof error["code"] === "string" ? error["code"] : "";
}
