export { prepareNode, settingsOf, takeBackup } from "./backups.ts";
export { mustAnchorctl, runAnchorctl } from "./run-anchorctl.ts";
export { changeTrustRoot, mustRun, rotateNode, runRoot, settleNode } from "./trust-root-changes.ts";
