/** Version of this release, as /healthz says it. */
export const SERVICE_VERSION = "4.2.0";
