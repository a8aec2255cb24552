import { cp, copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { ReleaseError } from "../artefact.ts";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { filesUnder } from "../files.ts";
import { run } from "../run.ts";

const NAME = "event-anchoring";
const CHART = join(CHECKOUT, "deploy/helm", NAME);

/** The Helm chart, as `helm package` names it, and with times that are not those of today. */
export const helmChart: Maker = {
  name: "helm-chart",
  make: async ({ folder, version, sourceDateEpoch }) => {
    const work = await mkdtemp(join(tmpdir(), "release-chart-"));
    try {
      // Files that deploy/ has elsewhere are links in the checkout.
      await cp(CHART, join(work, NAME), { recursive: true, dereference: true });
      for (const file of ["LICENSE", "NOTICE"]) await copyFile(join(CHECKOUT, file), join(work, NAME, file));
      await assertVersion(join(work, NAME, "Chart.yaml"), version);
      const tarball = join(work, "chart.tar");
      // Helm reads Chart.yaml wherever it is; the order is that of names, byte by byte.
      const files = (await filesUnder(work)).sort();
      const settled = ["--format=ustar", "--owner=0", "--group=0", "--numeric-owner", "--mode=0644"];
      await run("tar", ["-C", work, ...settled, `--mtime=@${sourceDateEpoch}`, "-cf", tarball, ...files]);
      const file = `${NAME}-${version}.tgz`;
      await writeFile(join(folder, file), gzipSync(await readFile(tarball), { level: 9 }));
      return [file];
    } finally {
      await rm(work, { recursive: true });
    }
  },
};

/** A chart has its version inside, and so has the image that it names. */
async function assertVersion(path: string, version: string): Promise<void> {
  const text = await readFile(path, "utf8");
  const others = ["version", "appVersion"].filter((name) => !text.split("\n").includes(`${name}: ${version}`));
  if (others.length > 0) throw new ReleaseError(`Chart.yaml has another ${others.join(" and ")} than ${version}`);
}
