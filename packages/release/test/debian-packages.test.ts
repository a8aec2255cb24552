import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

// The packages of Debian, made twice, and installed by dpkg in a copy of this file system without the checkout.

const place = mkdtempSync(join(tmpdir(), "anchoring-deb-"));
const packed = join(place, "packed");
const VERSION = (JSON.parse(readFileSync(join(CHECKOUT, "package.json"), "utf8")) as { version: string }).version;
const PACKAGES = ["anchorctl", "event-anchoring-node"].map((name) => `${name}_${VERSION}_all.deb`);
const isThere = (program: string, ...args: readonly string[]): boolean => spawnSync(program, args).status === 0;
const hasDpkg = isThere("dpkg-deb", "--version");

/** Runs commands as root of a copy of this file system that is written in memory and forgotten. */
const IN_A_COPY = `set -e
mount -t tmpfs none "$1/memory"
mkdir "$1/memory/upper" "$1/memory/work"
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/memory/upper,workdir=$1/memory/work" "$1/root"
mkdir -p "$1/root$2" "$1/root/packed"
mount -t tmpfs none "$1/root$2"
mount --bind "$1/packed" "$1/root/packed"
mount --bind /proc "$1/root/proc"
mount --bind /dev "$1/root/dev"
mount -t tmpfs none "$1/root/tmp"
[ -x "$1/root/usr/bin/node" ] || install -D "$3" "$1/root/usr/bin/node"
cd /
exec chroot "$1/root" bash -euc "$4"`;

function inACopy(commands: string): { status: number | null; stdout: string; stderr: string } {
  for (const name of ["memory", "root", "packed"]) mkdirSync(join(place, name), { recursive: true });
  const args = [
    "--mount",
    "sh",
    "-c",
    IN_A_COPY,
    "sh",
    place,
    CHECKOUT.replace(/\/$/u, ""),
    process.execPath,
    commands,
  ];
  const { status, stdout, stderr } = spawnSync("unshare", args, { encoding: "utf8" });
  return { status, stdout, stderr };
}

const canInstall = hasDpkg && process.getuid?.() === 0 && inACopy("command -v dpkg adduser").status === 0;

const release = (...args: readonly string[]): string =>
  execFileSync(process.execPath, [join(CHECKOUT, "packages/release/bin/release.js"), "--dry", ...args], {
    encoding: "utf8",
    stdio: "pipe",
  });

beforeAll(() => {
  // In two places: it fails if a byte differs.
  if (hasDpkg) release("--only", "deb", "--twice", "--out", packed);
}, 600_000);

afterAll(() => rmSync(place, { recursive: true }));

(hasDpkg ? describe : describe.skip)(`the packages of Debian${hasDpkg ? "" : " (skipped: takes dpkg-deb)"}`, () => {
  test("belong to root, and have the time of the release", () => {
    for (const name of PACKAGES) {
      const lines = execFileSync("dpkg-deb", ["--contents", join(packed, name)], {
        encoding: "utf8",
        maxBuffer: 2 ** 26,
      });
      const owners = new Set(
        lines
          .trim()
          .split("\n")
          .map((line) => line.split(/\s+/u).slice(1, 2).join()),
      );
      const times = new Set(
        lines
          .trim()
          .split("\n")
          .map((line) => line.split(/\s+/u).slice(3, 5).join(" ")),
      );
      expect([...owners]).toEqual(["root/root"]);
      expect(times.size).toBe(1);
    }
  });

  test("are listed with every library that is in them", () => {
    const lines = execFileSync("dpkg-deb", ["--contents", join(packed, PACKAGES[1] ?? "")], {
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
    const shipped = [...lines.matchAll(/node_modules\/((?:@[^/\n]+\/)?[^/@\n]+)\/package\.json$/gmu)].map(
      ([, name]) => name,
    );
    expect(shipped.length).toBeGreaterThan(100);
    const { packages, relationships } = JSON.parse(readFileSync(join(packed, "SBOM.spdx.json"), "utf8")) as {
      packages: readonly { readonly name: string; readonly SPDXID: string }[];
      relationships: readonly { readonly spdxElementId: string; readonly relatedSpdxElement: string }[];
    };
    const own = packages.find(({ name }) => name === PACKAGES[1])?.SPDXID;
    const related = relationships.filter((each) => each.spdxElementId === own).map((each) => each.relatedSpdxElement);
    const listed = packages.filter(({ SPDXID }) => related.includes(SPDXID)).map(({ name }) => name);
    expect(shipped.filter((name) => !listed.includes(name ?? ""))).toEqual([]);
  });

  test("hold no secret, no test and nothing for development", () => {
    const lines = execFileSync("dpkg-deb", ["--contents", join(packed, PACKAGES[1] ?? "")], {
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
    const names = lines
      .trim()
      .split("\n")
      .map((line) => line.split(/\s+/u)[5] ?? "");
    expect(names).toContain("./usr/lib/event-anchoring/packages/control-plane/dist/main.js");
    const wrong = /\.(key|seed|pem|test\.js|ts|map)$|node_modules\/(typescript|jest|vite|oxlint)\//u;
    expect(names.filter((name) => wrong.test(name))).toEqual([]);
    expect(names.filter((name) => name.startsWith("./etc/"))).toEqual([]);
  });
});

const hasLintian = hasDpkg && isThere("lintian", "--version");
const describeLintian = hasLintian ? describe : describe.skip;
describeLintian(`lintian${hasLintian ? "" : " (skipped: takes lintian)"}`, () => {
  test("finds no fault", () => {
    const paths = PACKAGES.map((name) => join(packed, name));
    const args = ["--allow-root", "--fail-on", "error,warning", ...paths];
    const { status, stdout } = spawnSync("lintian", args, { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  }, 120_000);
});

interface Vectors {
  readonly pinned_root_thk: string;
  readonly trust_roots: readonly string[];
  readonly proof: { readonly good: readonly { readonly proof: string }[] };
}

const NOTE = canInstall ? "" : " (skipped: takes root, dpkg, adduser and an overlay file system)";
const describeInstalled = canInstall ? describe : describe.skip;
// Node.js here is not Debian's, so its name is no dependency that dpkg knows of.
const install = `export DEBIAN_FRONTEND=noninteractive
[ ! -e ${join(CHECKOUT, "package.json")} ]
dpkg --force-depends -i ${PACKAGES.map((name) => `/packed/${name}`).join(" ")} >/tmp/said 2>&1 ||
  { cat /tmp/said; exit 9; }
cd /tmp
`;
describeInstalled(`installed where there is no checkout${NOTE}`, () => {
  test("anchorctl says its version, and runs the first example of its README", () => {
    const vectors = JSON.parse(readFileSync(join(CHECKOUT, "test/vectors/receipt.json"), "utf8")) as Vectors;
    const files = {
      "log.txt": "event 5",
      "log.txt.tlog-proof": vectors.proof.good[0]?.proof ?? "",
      "trust-root.txt": vectors.trust_roots[0] ?? "",
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(packed, name), text);
    const readme = readFileSync(join(CHECKOUT, "packages/cli/README.md"), "utf8");
    const line = /^anchorctl verify .*$/mu.exec(readme)?.[0] ?? "";
    const said = inACopy(`${install}cp /packed/*.tlog-proof /packed/*.txt .
anchorctl --version
PIN=${vectors.pinned_root_thk}
${line}
echo other > log.txt
${line} >/dev/null || echo "changed: $?"
test -f /usr/share/man/man1/anchorctl.1.gz`);
    expect(said).toMatchObject({ status: 0, stderr: "" });
    expect(said.stdout).toMatch(new RegExp(`^anchorctl ${VERSION}\n`, "u"));
    expect(said.stdout).toMatch(/^VALID: log\.txt is /mu);
    expect(said.stdout).toMatch(/^changed: 1$/mu);
  }, 120_000);

  test("a node has its accounts and folders, its programs, and units that systemd takes", () => {
    const said = inACopy(`${install}
stat -c '%U:%G %a %n' /etc/anchoring/* /etc/anchoring/control-plane/identity /var/lib/anchoring* /var/backups/anchoring
for process in control-plane api; do
  program=/usr/lib/event-anchoring/packages/$process/dist/main.js
  node $program --version
  node $program --config /nowhere --check >/tmp/check 2>&1 || echo "check $?"
done
node /usr/lib/event-anchoring/certs/ceremony.js --out /tmp/cluster >/dev/null && ls /tmp/cluster/nodes
grep -ho '/usr/lib/event-anchoring/[^ ]*' /lib/systemd/system/anchoring-*.service | sort -u | xargs ls
! grep -l /opt/ /lib/systemd/system/anchoring-*
`);
    expect(said).toMatchObject({ status: 0, stderr: "" });
    expect(said.stdout.trim().split("\n")).toEqual([
      "anchoring-api:anchoring-api 700 /etc/anchoring/api",
      "anchoring-backup:anchoring-backup 700 /etc/anchoring/backup",
      "anchoring:anchoring 700 /etc/anchoring/control-plane",
      "anchoring-monitor:anchoring-monitor 700 /etc/anchoring/monitor",
      "anchoring:anchoring 700 /etc/anchoring/control-plane/identity",
      "anchoring:anchoring 700 /var/lib/anchoring",
      "anchoring:anchoring 700 /var/lib/anchoring-promise",
      "anchoring-backup:anchoring-backup 700 /var/backups/anchoring",
      expect.stringContaining(VERSION),
      "check 2",
      expect.stringContaining(VERSION),
      "check 2",
      "n1",
      "n2",
      "n3",
      "/usr/lib/event-anchoring/packages/api/dist/main.js",
      "/usr/lib/event-anchoring/packages/cli/bin/anchorctl.js",
      "/usr/lib/event-anchoring/packages/control-plane/dist/main.js",
    ]);
  }, 240_000);
});

describeInstalled(`installed again, and purged${NOTE}`, () => {
  test("keeps what a node has promised when it is installed again, and when it is purged", () => {
    const said = inACopy(`${install}
echo promise > /var/lib/anchoring-promise/promise.bin
echo seed > /etc/anchoring/control-plane/identity/log.seed
chmod 750 /etc/anchoring/api
dpkg --force-depends -i /packed/event-anchoring-node_* >/dev/null 2>&1
stat -c %a /etc/anchoring/api
dpkg --verify event-anchoring-node
dpkg --purge event-anchoring-node >/dev/null 2>&1
cat /var/lib/anchoring-promise/promise.bin /etc/anchoring/control-plane/identity/log.seed
! ls /usr/lib/event-anchoring 2>/dev/null
`);
    expect(said).toEqual({ status: 0, stdout: "750\npromise\nseed\n", stderr: "" });
  }, 120_000);
});

/** The archives of Debian are not asked; where Node.js is not Debian's, a package with that name holds it. */
const OFFLINE = `export DEBIAN_FRONTEND=noninteractive
rm -rf /var/lib/apt/lists/* /etc/apt/sources.list /etc/apt/sources.list.d
if ! dpkg --compare-versions "$(dpkg-query --show --showformat '\${Version}' nodejs 2>/dev/null)" ge 20.19; then
  install -D /usr/bin/node /tmp/node/usr/bin/node
  mkdir /tmp/node/DEBIAN
  printf '%s\n' 'Package: nodejs' "Version: $(node --version | tr -d v)" 'Architecture: all' 'Maintainer: nobody' \
    'Description: Node.js' >/tmp/node/DEBIAN/control
  dpkg-deb --build /tmp/node /tmp/node.deb >/dev/null
  dpkg --install /tmp/node.deb >/dev/null
fi
cd /packed
`;
const canApt = canInstall && isThere("apt", "--version");
const describeApt = canApt ? describe : describe.skip;
describeApt(`installed by apt${canApt ? "" : " (skipped: takes apt, and what an installation takes)"}`, () => {
  test.each(["README.md", "docs/operating/systemd.md"])(
    "the lines of %s are typed as they are written",
    (page) => {
      const text = readFileSync(join(CHECKOUT, page), "utf8");
      const lines = [...text.matchAll(/^apt(?:-get)? install \.\/.*\.deb.*$/gmu)].map(([line]) => line);
      for (const name of PACKAGES) expect(lines.join("\n")).toContain(` ./${name}`);
      const typed = lines.map(
        (line) => `${line.replace(/ +#.*$/u, "")} >>/tmp/said 2>&1 </dev/null ||
  { cat /tmp/said; exit 9; }`,
      );
      const said = inACopy(`${OFFLINE}${typed.join("\n")}
dpkg-query --show --showformat '\${Package} \${Status}\\n' anchorctl event-anchoring-node
cd /tmp
anchorctl --version`);
      const installed = ["anchorctl install ok installed", "event-anchoring-node install ok installed"];
      expect(said).toEqual({ status: 0, stdout: [...installed, `anchorctl ${VERSION}`, ""].join("\n"), stderr: "" });
    },
    240_000,
  );
});

const hasSystemd = canInstall && isThere("systemd-analyze", "--version");
const describeSystemd = hasSystemd ? describe : describe.skip;
describeSystemd(`systemd${hasSystemd ? "" : " (skipped: takes systemd, and what an installation takes)"}`, () => {
  test("takes the units of an installed node", () => {
    const said = inACopy(`${install}
systemd-analyze verify /lib/systemd/system/anchoring-*.{service,timer} 2>&1 | grep anchoring- || true`);
    expect(said).toEqual({ status: 0, stdout: "", stderr: "" });
  }, 120_000);
});
