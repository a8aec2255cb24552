// Stands in for a node process. Arguments: what to do.
const [what, detail] = process.argv.slice(2);
process.on("disconnect", () => process.exit(0));
switch (what) {
  case "exit":
    process.stderr.write(`leaving with ${detail}\n`);
    process.exit(Number(detail));
    break;
  case "serve":
    process.on("SIGTERM", () => process.exit(0));
    process.stdout.write("serving\n");
    setInterval(() => {}, 1000);
    break;
  case "ignore":
    process.on("SIGTERM", () => process.stdout.write("not now\n"));
    process.stdout.write("serving\n");
    setInterval(() => {}, 1000);
    break;
}
