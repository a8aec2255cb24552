export { GATEWAY_NOTE, GatewayProcess, isGatewayThere } from "./gateway-process.ts";
