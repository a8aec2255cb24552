import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { formatIdentity } from "@event-anchoring/control-contract";
import type { CertificateRole } from "@event-anchoring/control-contract";
import { hexToBytes } from "@event-anchoring/protocol";
import { OPERATOR_LIFETIME_MS_MAX, issueCertificate, issueRequested, parseCertificate } from "../ca.ts";
import { loadCertificateAuthority, loadCluster } from "../cluster-files.ts";
import { makeNamedDirectory, writePrivateFile } from "../files.ts";
import { CertsUsageError, OUT_DIR_DEFAULT, dateText, parseLifetime } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const HELP = `Usage: node certs/issue.js <operator|api|node> <id> [options]

Issues a certificate, with a new key, into a folder: tls.crt, tls.key and ca.crt. An operator's certificate makes and
revokes API keys, and lives a day at most. A node's own certificate is renewed in place by certs/renew.js; issued here,
it is for a node whose folder is elsewhere.

With --request no key is made: the certificate is for the key whose holder wrote the request (tls.csr), and which stays
with them.

Options:
  --request <file>     of a node: tls.csr from its identity folder
  --to <folder>        where it goes (default: <cluster folder>/issued/<role>-<id>)
  --lifetime <time>    (default: 8h for an operator, 30d otherwise)
  --out <folder>       the cluster's folder, with the CA (default: ${OUT_DIR_DEFAULT})
  --help, --version    print this, or the version
`;

const ROLES: readonly CertificateRole[] = ["operator", "api", "node"];

export async function issueCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      to: { type: "string" },
      lifetime: { type: "string" },
      request: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const [roleText, id, ...others] = positionals;
  const role = ROLES.find((known) => known === roleText);
  if (role === undefined || id === undefined || others.length > 0) throw new CertsUsageError(HELP);
  const lifetimeMs = parseLifetime(values.lifetime ?? (role === "operator" ? "8h" : "30d"));
  if (role === "operator" && lifetimeMs > OPERATOR_LIFETIME_MS_MAX) {
    throw new CertsUsageError("an operator's certificate lives 24h at most");
  }
  const outDir = resolve(terminal.workingDir, values.out);
  const to =
    values.to === undefined ? join(outDir, "issued", `${role}-${id}`) : resolve(terminal.workingDir, values.to);
  const cluster = await loadCluster(outDir);
  const authority = await loadCertificateAuthority(outDir);
  const identity = { role, clusterId: hexToBytes(cluster.clusterId, 32), id };
  await makeNamedDirectory(to);
  let certificate: string;
  if (values.request === undefined) {
    const issued = await issueCertificate(authority, identity, lifetimeMs, terminal.nowMs);
    certificate = issued.certificatePem;
    await writePrivateFile(join(to, "tls.key"), issued.privateKeyPem);
  } else {
    const request = await readFile(resolve(terminal.workingDir, values.request), "utf8");
    certificate = await issueRequested(authority, identity, request, lifetimeMs, terminal.nowMs);
  }
  await writePrivateFile(join(to, "ca.crt"), authority.certificatePem);
  await writePrivateFile(join(to, "tls.crt"), certificate);
  const expires = dateText(Date.parse(parseCertificate(certificate).validTo));
  terminal.write(`  ${to}: ${formatIdentity(identity)}, expires ${expires}\n`);
  return 0;
}
