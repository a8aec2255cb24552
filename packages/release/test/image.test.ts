import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import type { Maker } from "../src/artefact.ts";
import { possibleMakers } from "../src/command/possible-makers.ts";
import { image } from "../src/makers/image.ts";
import { whatBuildingLacks } from "../src/image/build-image.ts";
import { debianParts } from "../src/image/parts-of-image.ts";
import { provenanceOf } from "../src/image/provenance.ts";

// What a release tells about the image. `npm run release -- --dry --only image` builds it, where there is Docker.

const STATUS = `Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2:2.41-12+deb13u1
Description: GNU C Library
 Version: 9

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1
`;

test("packages of Debian are named by their package URLs, those that are installed alone", () => {
  expect(debianParts(STATUS, 'ID=debian\nVERSION_ID="13"\n')).toEqual([
    {
      registry: "deb",
      name: "debian/libc6",
      version: "2:2.41-12+deb13u1",
      qualifiers: "arch=amd64&distro=debian-13",
      license: null,
      relation: "CONTAINS",
    },
  ]);
  expect(() => debianParts(STATUS, "ID=debian\n")).toThrow("which Debian");
});

test("the provenance names commit, Dockerfile and base, with a digest where there is one", () => {
  const order = {
    version: "1.2.3",
    commit: "c".repeat(40),
    platform: "linux/amd64",
    sourceDateEpoch: 1_700_000_000,
    digest: `sha256:${"d".repeat(64)}`,
  };
  const of = (base: string): { subject: unknown; predicate: { buildDefinition: Record<string, unknown> } } =>
    JSON.parse(provenanceOf({ ...order, base })) as ReturnType<typeof of>;
  const { subject, predicate } = of(`node:24.1.0-slim@sha256:${"e".repeat(64)}`);
  expect(subject).toEqual([{ name: "event-anchoring:1.2.3", digest: { sha256: "d".repeat(64) } }]);
  const source = { uri: "git+checkout", digest: { gitCommit: order.commit } };
  expect(predicate.buildDefinition).toMatchObject({
    externalParameters: { configSource: { ...source, path: "deploy/Dockerfile" } },
    resolvedDependencies: [source, { uri: "pkg:docker/node@24.1.0-slim", digest: { sha256: "e".repeat(64) } }],
  });
  expect(of("node:24.1.0-slim").predicate.buildDefinition["resolvedDependencies"]).toEqual([
    source,
    { uri: "pkg:docker/node@24.1.0-slim" },
  ]);
});

test("without Docker the image is left out, and a line says so; asked for by name, it is an error", () => {
  const { PATH } = process.env;
  const other: Maker = { ...image, name: "other", lacks: () => null };
  const lines: string[] = [];
  const output = { write: (text: string) => lines.push(text) };
  try {
    process.env["PATH"] = "/nonexistent";
    expect(possibleMakers([other, image], [], output)).toEqual([other]);
    expect(lines).toEqual(["image is left out: no Docker on this machine\n"]);
    expect(() => possibleMakers([image], ["image"], output)).toThrow("image cannot be made: no Docker on this machine");
  } finally {
    process.env["PATH"] = PATH;
  }
});

test.each([
  [
    "of the engine, whose images lie in containerd's store",
    "docker",
    '[["driver-type","io.containerd.snapshotter.v1"]]',
    "nothing",
  ],
  ["in a container of its own", "docker-container", '[["Backing Filesystem","extfs"]]', "nothing"],
  [
    "of the engine, whose images lie in its older store",
    "docker",
    '[["Backing Filesystem","extfs"]]',
    expect.stringContaining("exports no OCI layout"),
  ],
])("a builder %s", (_what, driver, store, lacking) => {
  const { PATH } = process.env;
  const folder = mkdtempSync(join(tmpdir(), "release-docker-"));
  const answers = `case "$*" in "buildx inspect") echo 'Driver:        ${driver}' ;; info*) echo '${store}' ;; esac`;
  try {
    writeFileSync(join(folder, "docker"), `#!/bin/sh\n${answers}\n`, { mode: 0o755 });
    process.env["PATH"] = `${folder}:${PATH}`;
    expect(whatBuildingLacks() ?? "nothing").toEqual(lacking);
  } finally {
    process.env["PATH"] = PATH;
    rmSync(folder, { recursive: true });
  }
});
