import type { Maker } from "../artefact.ts";
import { anchorVerify } from "./anchor-verify.ts";
import { debianPackages } from "./debian-packages.ts";
import { githubAction } from "./github-action.ts";
import { helmChart } from "./helm-chart.ts";
import { image } from "./image.ts";
import { npmAdapters } from "./npm-adapters.ts";
import { npmAnchorctl } from "./npm-anchorctl.ts";
import { npmRaft } from "./npm-raft.ts";
import { npmSdk } from "./npm-sdk.ts";
import { pythonPackages } from "./python-packages.ts";
import { reference } from "./reference.ts";
import { rustCrate } from "./rust-crate.ts";
import { site } from "./site.ts";
import { verifyPage } from "./verify-page.ts";

/** Everything that is released, in the order in which it is made. */
export const MAKERS: readonly Maker[] = [
  npmSdk,
  npmAdapters,
  githubAction,
  npmAnchorctl,
  npmRaft,
  pythonPackages,
  rustCrate,
  anchorVerify,
  debianPackages,
  helmChart,
  image,
  verifyPage,
  site,
  reference,
];
