import { generateSeed } from "@event-anchoring/node-crypto";
import { bytesToHex } from "@event-anchoring/protocol";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { writeKeyFiles } from "../files/key-files.ts";
import type { Printer } from "../terminal/printer.ts";

export interface KeygenOptions {
  readonly file: string;
  readonly format: string;
  readonly isJson: boolean;
}

/** `anchorctl keygen`: nothing is overwritten, and only the public half is shown. */
export function keygenCommand({ file, format, isJson }: KeygenOptions, printer: Printer): ExitCode {
  if (format !== "pem" && format !== "seed") {
    throw new CliError(EXIT.usage, "format_invalid", `--format is pem or seed, not: ${format}`);
  }
  const seed = generateSeed();
  try {
    const publicKey = bytesToHex(writeKeyFiles(file, seed, format));
    if (isJson) {
      printer.json({ private_key_file: file, public_key_file: `${file}.pub`, public_key: publicKey });
    } else {
      printer.check("pass", "private key", `${file}, readable by you alone; keep it`);
      printer.check("pass", "public key", publicKey);
      printer.verdict("pass", `Key written to ${file} and ${file}.pub.`);
    }
    return EXIT.ok;
  } finally {
    seed.fill(0);
  }
}
