/** Version of this release, as /healthz shows it. */
export const SERVICE_VERSION = "4.2.0";
