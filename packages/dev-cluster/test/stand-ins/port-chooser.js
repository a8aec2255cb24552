// Chooses the ports of a cluster, says them, and starts nothing. Arguments: the built module, a folder, the first port.
const [modulePath, folder, firstPort] = process.argv.slice(2);
const { PortClaims } = await import(modulePath);
const ports = await new PortClaims(folder).choose(3, [], Number(firstPort));
process.stdout.write(JSON.stringify(ports));
setInterval(() => {}, 1000);
