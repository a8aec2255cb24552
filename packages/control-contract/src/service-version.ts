/** Version of this release: what the programs print with `--version`, and what a node says of itself. */
export const SERVICE_VERSION = "4.2.0";
