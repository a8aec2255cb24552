import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import {
  createAuthorities,
  forgetPreviousAuthority,
  makeNextAuthority,
  switchAuthority,
  trustNextAuthority,
} from "../authorities.ts";
import { CertsUsageError, OUT_DIR_DEFAULT } from "./certs-arguments.ts";
import type { CertsTerminal } from "./certs-arguments.ts";

const HELP = `Usage: node certs/authority.js <create|new|trust|switch|forget> [options]

Makes the CA of a cluster whose keys are made apart, and replaces a CA by its successor, under load. After each of the
numbered steps wait until all nodes have taken it up: their log says tls_reloaded.

  create    the CA and its successor, in ca/ below the folder, before there is a trust root; --name is the cluster's
  new       make the successor, if there is none; a trust root must pin it (its pin is printed)
  trust     1. every node accepts certificates of both CAs
  switch    2. what is issued from now on is issued by the successor; then: node certs/renew.js
  forget    3. no node accepts the old CA, and its key is deleted; then sign a trust root without its pin

Options:
  --out <folder>       the cluster's folder (default: ${OUT_DIR_DEFAULT}); the newest trust root in it counts
  --name <name>        cluster name, for create
  --help, --version    print this, or the version
`;

export async function authorityCommand(args: readonly string[], terminal: CertsTerminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      out: { type: "string", default: OUT_DIR_DEFAULT },
      name: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    terminal.write(HELP);
    return 0;
  }
  const { workingDir, nowMs } = terminal;
  const outDir = resolve(workingDir, values.out);
  const [step, ...others] = positionals;
  if (others.length > 0) throw new CertsUsageError(HELP);
  switch (step) {
    case "create": {
      if (values.name === undefined) throw new CertsUsageError("--name: what is the cluster called?");
      await createAuthorities(outDir, values.name, nowMs);
      terminal.write(`  ${join(outDir, "ca")}: ca.crt and next.crt are for the trust root, the keys stay here\n`);
      return 0;
    }
    case "new": {
      const pin = Buffer.from(await makeNextAuthority(outDir, nowMs)).toString("hex");
      terminal.write(`  The next CA is made. Have a trust root signed that pins it too:\n    ${pin}\n`);
      return 0;
    }
    case "trust":
      await trustNextAuthority(outDir);
      terminal.write(
        "  1. Every node's ca.crt holds both CAs. When all logs say tls_reloaded: certs/authority.js switch\n",
      );
      return 0;
    case "switch":
      await switchAuthority(outDir);
      terminal.write("  2. The next CA issues. Now: node certs/renew.js, and when all logs say tls_reloaded: forget\n");
      return 0;
    case "forget":
      await forgetPreviousAuthority(outDir);
      terminal.write("  3. The old CA is forgotten. Take its pin out of the next trust root.\n");
      return 0;
    default:
      throw new CertsUsageError(HELP);
  }
}
