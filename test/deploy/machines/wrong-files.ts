/** Files that do not belong on n2: made at the desk, with the keys of the cluster. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hexToBytes } from "@event-anchoring/protocol";
import {
  composeTrustRoot,
  createCertificateAuthority,
  formatProposal,
  issueCertificate,
  loadCertificateAuthority,
  loadCluster,
  readSealedKey,
  readTrustRoots,
  signProposal,
} from "@event-anchoring/provision";
import type { IssuedCertificate, TrustRootChange } from "@event-anchoring/provision";
import { typeAtDesk } from "./page.ts";

const CLUSTER = "deploy/.anchoring";
const DAY_MS = 86_400_000;
const DAY_S = 86_400;

/** A node that no trust root lists. */
const PREPARE_N4 = `
npx --no anchorctl member prepare n4 --cluster ${CLUSTER} --log-seed ${CLUSTER}/nodes/n1/identity/log.seed \
  --identity wrong/n4/identity --card wrong/n4.card
node certs/issue.js node n4 --to wrong/n4/identity
node certs/issue.js api n4 --to wrong/n4/api
cp ${CLUSTER}/root-thk.txt wrong/n4/api/
cp -r ${CLUSTER}/nodes/n3 wrong/n3
`;

/** Writes them into the folder `wrong` of the desk. */
export async function writeWrongFiles(desk: string): Promise<void> {
  mkdirSync(join(desk, "wrong"));
  typeAtDesk(desk, PREPARE_N4);
  await writeCertificates(desk);
  await writeTrustRoots(desk);
}

async function writeCertificates(desk: string): Promise<void> {
  const { clusterId } = await loadCluster(join(desk, CLUSTER));
  const own = await loadCertificateAuthority(join(desk, CLUSTER));
  const nowMs = Date.now();
  const other = await createCertificateAuthority("other.example", nowMs);
  const identityOf = (role: "node" | "api") => ({ role, clusterId: hexToBytes(clusterId, 32), id: "n2" });
  const write = (name: string, { certificatePem, privateKeyPem }: IssuedCertificate): void => {
    mkdirSync(join(desk, "wrong", name));
    writeFileSync(join(desk, "wrong", name, "tls.crt"), certificatePem);
    writeFileSync(join(desk, "wrong", name, "tls.key"), privateKeyPem);
  };
  write("ending", await issueCertificate(own, identityOf("node"), 5 * DAY_MS, nowMs));
  for (const role of ["node", "api"] as const) {
    write(`ended-${role}`, await issueCertificate(own, identityOf(role), DAY_MS, nowMs - 2 * DAY_MS));
    write(`other-${role}`, await issueCertificate(other, identityOf(role), 30 * DAY_MS, nowMs));
  }
  writeFileSync(join(desk, "wrong/other-node/ca.crt"), other.certificatePem);
}

async function writeTrustRoots(desk: string): Promise<void> {
  const chain = await readTrustRoots(join(desk, CLUSTER));
  const { issuedS } = chain.newest.trustRoot;
  const changes: Readonly<Record<string, TrustRootChange>> = {
    ended: { issuedS, expiresS: issuedS + 1 },
    ending: { issuedS, expiresS: issuedS + 10 * DAY_S },
    "without-n3": { issuedS, retire: ["n3"] },
  };
  for (const [name, change] of Object.entries(changes)) {
    let proposal = composeTrustRoot(chain, change);
    for (const key of ["root-1", "root-2"]) {
      const signer = await readSealedKey(join(desk, CLUSTER, "root-keys", `${key}.seed`), () => Promise.resolve(""));
      proposal = signProposal(chain, proposal, signer);
    }
    writeFileSync(join(desk, "wrong", `trust-root-${name}.txt`), formatProposal(proposal));
  }
}
