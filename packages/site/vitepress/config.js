import { siteConfig } from "../dist/index.js";

export default siteConfig();
