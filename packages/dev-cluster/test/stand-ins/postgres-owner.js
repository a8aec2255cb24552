// Owns a Postgres server and says its process id; killed by the test. Arguments: the built package, a folder.
const [packagePath, folder] = process.argv.slice(2);
const { EmbeddedPostgres, openPostgresInstallation, postgresUser } = await import(packagePath);
const user = postgresUser();
const server = new EmbeddedPostgres({
  dir: `${folder}/database`,
  socketDir: `${folder}/socket`,
  port: 5432,
  installation: openPostgresInstallation({ cacheDir: folder, user }),
  user,
});
await server.start();
process.stdout.write(`${server.pid}\n`);
setInterval(() => {}, 1000);
