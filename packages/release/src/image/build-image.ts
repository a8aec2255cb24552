import { spawnSync } from "node:child_process";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { run } from "../run.ts";

/** What is built, and where it goes. */
export interface ImageOrder {
  /** The commit whose files it is built from. */
  readonly commit: string;
  readonly version: string;
  readonly sourceDateEpoch: number;
  /** A folder for what is needed on the way. */
  readonly work: string;
  /** The OCI layout, in a tar. */
  readonly file: string;
}

/** What there is to say of a build. */
export interface BuiltImage {
  /** `linux/amd64`, say. */
  readonly platform: string;
  /** The image that it begins with, by its name there: `name:tag`, with `@sha256:…` where that is written. */
  readonly base: string;
}

/** The platform of the programs of this machine, in the words of images. */
const PLATFORMS: Readonly<Record<string, string>> = { x64: "linux/amd64", arm64: "linux/arm64" };

/** @returns why the image cannot be built on this machine; null: it can be tried */
export function whatBuildingLacks(): string | null {
  /** What docker says; null: it ends with an error, or is not there. */
  const told = (...args: string[]): string | null => {
    const { status, stdout } = spawnSync("docker", args, { env: process.env, encoding: "utf8" });
    return status === 0 ? stdout : null;
  };
  if (told("--version") === null) return "no Docker on this machine";
  if (told("buildx", "version") === null) return "no buildx on this machine, the plugin of Docker";
  const builder = told("buildx", "inspect");
  if (builder === null) return "no Docker engine answers";
  const isOfEngine = /^Driver: +docker$/mu.test(builder);
  const hasContainerdStore = (): boolean =>
    told("info", "--format", "{{json .DriverStatus}}")?.includes("io.containerd.snapshotter.") === true;
  return !isOfEngine || hasContainerdStore()
    ? null
    : "the Docker engine exports no OCI layout: that takes its containerd image store, or a builder of its own";
}

/**
 * Builds the image of a commit, for the platform of this machine, without anything that an earlier build has left.
 * Attestations of buildx are left out: they have the time of the build in them, so no two builds have the same bytes.
 */
export async function buildImage(order: ImageOrder): Promise<BuiltImage> {
  const { commit, version, sourceDateEpoch, work, file } = order;
  const platform = PLATFORMS[process.arch];
  if (platform === undefined)
    throw new ReleaseError(`there is no image for the processors of this machine: ${process.arch}`);
  const context = join(work, "context");
  await unpackCommit(commit, context, work);
  const dockerfile = join(context, "deploy/Dockerfile");
  const created = new Date(sourceDateEpoch * 1000).toISOString();
  const labels = { revision: commit, created: created.replace(".000Z", "Z") };
  const output = `type=oci,dest=${file},name=event-anchoring:${version},rewrite-timestamp=true`;
  const labelled = Object.entries(labels).flatMap(([name, text]) => [
    "--label",
    `org.opencontainers.image.${name}=${text}`,
  ]);
  const epoch = ["--build-arg", `SOURCE_DATE_EPOCH=${sourceDateEpoch}`];
  const plain = ["--no-cache", "--provenance=false", "--sbom=false"];
  const args = ["--platform", platform, "--file", dockerfile, "--output", output].concat(plain, epoch, labelled);
  await run("docker", ["buildx", "build", ...args, context], { env: { SOURCE_DATE_EPOCH: String(sourceDateEpoch) } });
  const [, base] = /^ARG NODE_IMAGE=(\S+)$/mu.exec(await readFile(dockerfile, "utf8")) ?? [];
  if (base === undefined) throw new ReleaseError("deploy/Dockerfile names no image to begin with");
  return { platform, base };
}

/** Its files have the time of the commit and modes without this account's umask. */
async function unpackCommit(commit: string, folder: string, work: string): Promise<void> {
  const archive = join(work, "context.tar");
  await run("git", ["-C", CHECKOUT, "-c", "tar.umask=0022", "archive", "--output", archive, commit]);
  await mkdir(folder);
  await run("tar", ["--extract", "--file", archive, "--directory", folder, "--preserve-permissions"]);
}
