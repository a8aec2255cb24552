import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { equalBytes } from "@event-anchoring/protocol";
import { apiDirOf } from "../api-certificates.ts";
import { spkiSha256Of, splitCertificates } from "../ca.ts";
import { loadCluster, readNewestTrustRoot } from "../cluster-files.ts";
import { fileExists } from "../files.ts";
import { OUT_DIR_DEFAULT, dateText, parseLifetime } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const HELP = `Usage: node certs/show.js [options]

Lists every certificate of the cluster's folder: whose it is, when it expires, and of a CA whether the newest trust root
pins it. Ends with 1 if one has expired or expires soon, or if a node trusts a CA that is not pinned.

Options:
  --within <time>      what is soon (default: 14d)
  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT})
  --help, --version    print this, or the version
`;

export async function showCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      within: { type: "string", default: "14d" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const outDir = resolve(terminal.workingDir, values.out);
  const soonMs = terminal.nowMs + parseLifetime(values.within);
  const cluster = await loadCluster(outDir);
  const { trustRoot } = await readNewestTrustRoot(outDir);
  const nodeFiles = cluster.nodes.flatMap((node) => [
    ...["tls.crt", "ca.crt"].map((name) => join(node.identityDir, name)),
    join(apiDirOf(node), "tls.crt"),
  ]);
  const caFiles = ["ca.crt", "next.crt", "previous.crt"].map((name) => join(outDir, "ca", name));
  let isGood = true;
  for (const path of [...nodeFiles, ...caFiles, join(outDir, "gateway", "served", "tls.pem")]) {
    if (!(await fileExists(path))) continue;
    for (const pem of splitCertificates(await readFile(path, "utf8"))) {
      const line = describe(pem, trustRoot.ca, terminal.nowMs, soonMs);
      isGood &&= line.isGood;
      terminal.write(`  ${line.isGood ? "✓" : "✗"} ${relative(outDir, path).padEnd(28)} ${line.text}\n`);
    }
  }
  return isGood ? 0 : 1;
}

function describe(
  pem: string,
  pins: readonly Uint8Array[],
  nowMs: number,
  soonMs: number,
): { readonly isGood: boolean; readonly text: string } {
  const certificate = new X509Certificate(pem);
  const expiresMs = Date.parse(certificate.validTo);
  const over = expiresMs <= nowMs ? "expired" : "expires";
  const name = certificate.subject.replaceAll("\n", ", ");
  if (!certificate.ca) return { isGood: expiresMs > soonMs, text: `${over} ${dateText(expiresMs)}  ${name}` };
  const spki = spkiSha256Of(pem);
  const isPinned = pins.some((pin) => equalBytes(pin, spki));
  const pin = `${isPinned ? "pinned" : "NOT PINNED"} ${Buffer.from(spki).toString("hex").slice(0, 16)}…`;
  return { isGood: isPinned && expiresMs > soonMs, text: `${over} ${dateText(expiresMs)}  ${name}, ${pin}` };
}
