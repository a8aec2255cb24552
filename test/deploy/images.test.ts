import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";

// The images that this project starts from, and the one that it builds.

const CHECKOUT = fileURLToPath(new URL("../..", import.meta.url));
/** Where images of others are named. */
const FILES = [
  "docker-compose.yml",
  "deploy/Dockerfile",
  "deploy/kubernetes/base/statefulset.yaml",
  "deploy/kubernetes/backup/drill.yaml",
  "deploy/helm/event-anchoring/values.yaml",
];
const EXCUSED = "deploy/images-without-digest.txt";

test("the image holds the OpenAPI document that its api process serves", () => {
  const lines = (file: string): string[] => readFileSync(join(CHECKOUT, file), "utf8").split("\n");
  expect(lines("deploy/Dockerfile")).toContain("COPY docs/openapi.json docs/openapi.json");
  expect(lines(".dockerignore")).toContain("!docs/openapi.json");
});

test("the image is built with the proof page, and with the glossary that goes into it", () => {
  const read = (file: string): string => readFileSync(join(CHECKOUT, file), "utf8");
  expect(read("deploy/Dockerfile")).toMatch(/^COPY docs\/GLOSSARY\.md docs\/GLOSSARY\.md$[^]*&& npm run build:page$/mu);
  expect(read(".dockerignore")).toMatch(/^!docs\/GLOSSARY\.md$/mu);
});

const HADOLINT = process.env["HADOLINT"] ?? "hadolint";
const isHadolintThere = spawnSync(HADOLINT, ["--version"]).status === 0;
const describeLint = isHadolintThere ? describe : describe.skip;

describeLint(`hadolint${isHadolintThere ? "" : " (skipped: no hadolint here)"}`, () => {
  const lint = (file: string): readonly unknown[] => {
    const args = ["--no-color", "--failure-threshold", "style", file];
    const { status, stdout, stderr } = spawnSync(HADOLINT, args, { encoding: "utf8" });
    return [status, stdout + stderr];
  };

  test("finds nothing in the Dockerfile", () => {
    expect(lint(join(CHECKOUT, "deploy/Dockerfile"))).toEqual([0, ""]);
    const folder = mkdtempSync(join(tmpdir(), "anchoring-lint-"));
    const worse = join(folder, "Dockerfile");
    writeFileSync(worse, `${readFileSync(join(CHECKOUT, "deploy/Dockerfile"), "utf8")}RUN cd /tmp\n`);
    expect(lint(worse)).toEqual([1, expect.stringContaining("DL3003")]);
    rmSync(folder, { recursive: true });
  }, 60_000);
});

test("the image is built for any platform: its last stage alone is of it, and runs one command", () => {
  const text = readFileSync(join(CHECKOUT, "deploy/Dockerfile"), "utf8");
  const [, ...stages] = text.split(/^(?=FROM )/mu);
  const last = stages.pop() ?? "";
  expect(stages.length).toBeGreaterThan(0);
  for (const stage of stages) expect(stage).toMatch(/^FROM --platform=\$BUILDPLATFORM \$\{NODE_IMAGE\} AS /u);
  expect(last).toMatch(/^FROM \$\{NODE_IMAGE\}\n/u);
  const runs = last.match(/^RUN (?:.*\\\n)*.*$/gmu) ?? [];
  expect(runs).toHaveLength(1);
  expect(
    (runs[0] ?? "")
      .slice("RUN ".length)
      .split(/&&/u)
      .map((part) => part.trim().split(" ")[0]),
  ).toEqual(["mkdir", "mkdir", "rm"]);
});

test("the image has the libraries that lie in one package alone, because another version lies above", () => {
  const { packages } = JSON.parse(readFileSync(join(CHECKOUT, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, { readonly dev?: boolean; readonly optional?: boolean }>>;
  };
  const nested = Object.entries(packages).filter(
    ([folder, { dev, optional }]) =>
      /^packages\/[^/]+\/node_modules\//u.test(folder) && dev !== true && optional !== true,
  );
  expect(nested.map(([folder]) => folder)).not.toEqual([]);
  const text = readFileSync(join(CHECKOUT, "deploy/Dockerfile"), "utf8");
  const [, last = ""] = /\nCOPY --from=dependencies \/build\/node_modules node_modules\n([^]*)$/u.exec(text) ?? [];
  expect(last).toContain("COPY --from=dependencies /build/packages packages\n");
});

test("the image says whose and which it is", () => {
  const text = readFileSync(join(CHECKOUT, "deploy/Dockerfile"), "utf8");
  const { version, license } = JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as {
    readonly version: string;
    readonly license: string;
  };
  const labels = new Map(
    [...text.matchAll(/org\.opencontainers\.image\.(\S+?)="([^"]*)"/gu)].map(([, a, b]) => [a, b]),
  );
  expect(labels.get("version")).toBe(version);
  expect(labels.get("licenses")).toBe(license);
  expect(labels.get("title")).toBe("event-anchoring");
  expect(labels.get("base.name")).toBe("${NODE_IMAGE}");
  expect(readFileSync(join(CHECKOUT, "docker-compose.yml"), "utf8")).toContain(`image: event-anchoring:${version}\n`);
});

test("one service of docker-compose.yml builds the image, and the others name it", () => {
  const text = readFileSync(join(CHECKOUT, "docker-compose.yml"), "utf8");
  // A block that several services merge would give each of them a build of its own.
  const [blocks = "", services = ""] = text.split(/^services:$/mu);
  expect(blocks).not.toMatch(/^ +build:/mu);
  expect(services.match(/^ +build:/gmu)).toHaveLength(1);
  expect(text.match(/<<: \[\*image,/gu)?.length).toBeGreaterThan(2);
});

describe("deploy/images.js", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "anchoring-images-"));
    for (const name of ["deploy", "docker-compose.yml"]) {
      cpSync(join(CHECKOUT, name), join(folder, name), {
        recursive: true,
        filter: (path) => !path.includes(".anchoring"),
      });
    }
  });

  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  const run = (command: string, path = process.env["PATH"] ?? ""): { status: number | null; said: string } => {
    const args = [join(CHECKOUT, "deploy/images.js"), command, folder];
    const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", env: { PATH: path } });
    return { status, said: stdout + stderr };
  };
  const text = (name: string): string => readFileSync(join(folder, name), "utf8");
  /** A docker that tells another digest for each tag, or none. */
  const dockerThat = (script: string): string => {
    writeFileSync(join(folder, "docker"), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, "docker"), 0o755);
    return `${folder}:${process.env["PATH"] ?? ""}`;
  };

  test("finds every image with a digest, or with the reason why it has none", () => {
    expect(run("check")).toMatchObject({ status: 0 });
  });

  test("finds a tag without an exception, and an exception without a tag", () => {
    writeFileSync(join(folder, EXCUSED), text(EXCUSED).replace(/^haproxy.*$/mu, "nginx:1  no reason at all"));
    const { status, said } = run("check");
    expect(status).toBe(1);
    expect(said).toMatch(/✗ haproxy:\S+ {2}no digest, no reason/u);
    expect(said).toContain("✗ nginx:1  is excused, and named nowhere");
  });

  test("renews: every place that names an image names the digest of today, and no reason is left", () => {
    const today = dockerThat(`printf 'sha256:%s\\n' "$(printf %s "$4" | sha256sum | cut -c1-64)"`);
    expect(run("renew", today)).toMatchObject({ status: 0 });
    for (const name of FILES) {
      const named = text(name).match(/(?:image: |NODE_IMAGE=)(?!event-anchoring)[a-z]\S+/gu) ?? [];
      expect(named.length).toBeGreaterThan(0);
      for (const image of named) expect(image).toMatch(/:[\w.-]+@sha256:[0-9a-f]{64}$/u);
      expect(text(name).replaceAll(/@sha256:[0-9a-f]{64}/gu, "")).toBe(
        readFileSync(join(CHECKOUT, name), "utf8").replaceAll(/@sha256:[0-9a-f]{64}/gu, ""),
      );
    }
    expect(text(EXCUSED)).not.toMatch(/^[^#\s]/mu);
    // Another day, other digests; a file that was forgotten is seen.
    const tomorrow = dockerThat(`printf 'sha256:%064d\\n' 1`);
    expect(run("renew", tomorrow)).toMatchObject({ status: 0 });
    writeFileSync(
      join(folder, "docker-compose.yml"),
      text("docker-compose.yml").replace(/(image: postgres.*)1$/mu, "$12"),
    );
    expect(run("check").said).toMatch(/✗ postgres:\S+ {2}named with different digests/u);
  });

  test("writes nothing where a registry does not answer", () => {
    const deaf = dockerThat("echo no such host >&2; exit 1");
    const { status, said } = run("renew", deaf);
    expect([status, said]).toEqual([2, expect.stringContaining("told no digest: no such host")]);
    for (const name of FILES) expect(text(name)).toBe(readFileSync(join(CHECKOUT, name), "utf8"));
  });
});
