// The recommended flow: who acts, on whose behalf, what was done, and the way back from there.
// node examples/recommended-flow.js, with ANCHORING_ENDPOINT, ANCHORING_API_KEY and ANCHORING_ROOT_THK.
import { randomBytes } from "node:crypto";
import { Client, LocalKey, prepareClaimAnchor, sha256, verifyReceipt, verifyTrustRoot } from "@event-anchoring/sdk";

const { ANCHORING_ENDPOINT: endpoint, ANCHORING_API_KEY: apiKey, ANCHORING_ROOT_THK: pinnedRootThk } = process.env;
const hashOf = (text) => sha256(new TextEncoder().encode(text));
const say = (text) => process.stdout.write(`${text}\n`);
const ATTRIBUTE_TYPE = "0x1001";

// Whoever verifies later holds the hash of a trust root that came some other way. The client verifies every receipt.
const { chain } = await new Client({ endpoint }).trustRoot();
const trustRoot = verifyTrustRoot({ documents: chain, pinnedRootThk });
const client = new Client({ endpoint, apiKey, trustRoot });
const { status, originFingerprint } = await client.healthz();
say(`the node is ${status}`);

// 1. Subjects. Keys in this process sign by themselves; here the deployer's is in an HSM, which gets bytes to sign.
const [deployerHsm, agent, issuer] = [LocalKey.generate(), LocalKey.generate(), LocalKey.generate()];
const [deployerEntity, agentEntity] = [randomBytes(32), randomBytes(32)];
const prepared = prepareClaimAnchor({
  originFingerprint,
  entityFingerprint: deployerEntity,
  attributeType: ATTRIBUTE_TYPE,
  attributeHash: hashOf("deployer of the billing agent"),
  subjectPublicKey: deployerHsm.publicKey,
  issuerPublicKey: issuer.publicKey,
});
const subjectSignature = deployerHsm.sign(prepared.subjectPayload.bytes);
const issuerSignature = issuer.sign(prepared.issuerPayload(subjectSignature).bytes);
const deployerClaim = await client.createClaimAnchor({ ...prepared.fields, subjectSignature, issuerSignature });
const agentClaim = await client.createClaimAnchor({
  entityFingerprint: agentEntity,
  attributeType: ATTRIBUTE_TYPE,
  attributeHash: hashOf("billing agent, version 7"),
  subjectSigner: agent,
  issuerSigner: issuer,
});
const active = await client.getClaimAnchor(agentEntity, ATTRIBUTE_TYPE);
say(`the agent's claim is ${active.state}, certified at depth ${active.anchor.depth}`);

// 2. Delegation: scope, depth, window.
const grant = await client.createGrantAnchor({
  grantorClaimRef: deployerClaim.anchor.anchorId,
  granteeClaimRef: agentClaim.anchor.anchorId,
  scopeHash: hashOf("issue invoices up to 1,000"),
  delegationDepth: 0,
  grantorSigner: deployerHsm,
  witnessSigner: issuer,
});
const checked = await client.verifyGrantAnchor(grant.anchor.anchorId);
say(`the grant is ${checked.valid ? "valid" : "not valid"}`);

// 3. An operational event that names both, signed by who acts.
const eventHash = hashOf("invoice 4711 was issued");
const event = await client.createEventAnchor(eventHash, {
  semanticAnchor: {
    irisRef: agentClaim.anchor.anchorId,
    grantRef: grant.anchor.anchorId,
    eventDataHash: eventHash,
  },
  clientEventId: `invoice-4711-${agent.publicKeyHex.slice(0, 8)}`,
  actorSigner: agent,
});

// 4. Back from the event to who acted and on whose behalf; and the proof that needs nobody's word.
const before = await client.trace(event.anchor.anchorId);
say(`authorised when it was done: ${before.authorisedAtAction}`);
const proof = verifyReceipt(event.receipt, { trustRoot, eventHash, anchorId: event.anchor.anchorId });
say(`leaf of a tree of ${proof.treeSize}, cosigned by ${proof.cosigners.length} nodes`);

// 5. Revocation: what was done stays authorised, what is done from now on is not.
const { anchorId } = agentClaim.anchor;
await client.revokeClaimAnchor(anchorId, { reason: "cessation", revokerSigner: issuer });
const after = await client.trace(event.anchor.anchorId);
say(`after the revocation, at action ${after.authorisedAtAction}, now ${after.authorisedNow}`);
[deployerHsm, agent, issuer].forEach((key) => key.destroy());
