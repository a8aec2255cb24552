/** Programs of Go that judge what this project writes with libraries of others. Each is a module in a folder here. */
import { execFileSync, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";

/** The minor version of Go 1 that each go.mod asks for. */
const GO_MINOR = 26;
const ENVIRONMENT = { ...process.env, GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local", GOWORK: "off" };

function folderOf(module: string): string {
  return fileURLToPath(new URL(module, import.meta.url));
}

/** Why a module cannot be built on this machine; null: Go is here, and so is what it needs. */
export function whatGoLacks(module: string): string | null {
  const { stdout } = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8", env: ENVIRONMENT, cwd: tmpdir() });
  const [, minor = "0"] = /^go1\.(\d+)/u.exec(stdout ?? "") ?? [];
  if (Number(minor) < GO_MINOR) return `there is no Go 1.${GO_MINOR} here`;
  const options = { cwd: folderOf(module), env: ENVIRONMENT, encoding: "utf8" } as const;
  const download = spawnSync("go", ["mod", "download"], options);
  if (download.status === 0) return null;
  // What CI leaves out is not proved: there, modules that cannot be had are a failure.
  if (process.env["CI"] !== undefined) throw new Error(`go mod download: ${download.stderr}`);
  return `the modules of test/interop/${module} cannot be had: ${download.stderr.trim()}`;
}

/** Seconds if Go has the libraries compiled, else half a minute. @param program where it is put */
export function buildGo(module: string, program: string): void {
  const args = ["build", "-trimpath", "-buildvcs=false", "-o", program, "."];
  execFileSync("go", args, { cwd: folderOf(module), env: ENVIRONMENT });
}
