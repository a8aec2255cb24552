/** The documentation as a site, by VitePress. */
export { buildSite } from "./build-site.ts";
export { siteConfig } from "./site-config.ts";
