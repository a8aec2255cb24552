/** What the provenance of an image tells. */
export interface ProvenanceOrder {
  readonly version: string;
  readonly commit: string;
  readonly platform: string;
  readonly sourceDateEpoch: number;
  /** The image that it begins with, as the Dockerfile names it: `name:tag`, with `@sha256:…` where that is written. */
  readonly base: string;
  /** The image's: `sha256:` and 64 hex digits. */
  readonly digest: string;
}

/** BuildKit's builds of a Dockerfile, whose parameters are as this page defines them. */
const BUILD_TYPE = "https://github.com/moby/buildkit/blob/master/docs/attestations/slsa-definitions.md";
/** The command, on any machine: nobody vouches for the machine. SLSA calls this build level 1. */
const BUILDER = "urn:event-anchoring:npm-run-release";

/**
 * An in-toto statement with a provenance of SLSA, https://slsa.dev/spec/v1.1/provenance: no times, for those of a build
 * are others each time. It says what the machine was told, and is worth what the signature over the sums is worth.
 */
export function provenanceOf(order: ProvenanceOrder): string {
  const { version, commit, platform, sourceDateEpoch, base, digest } = order;
  const source = { uri: "git+checkout", digest: { gitCommit: commit } };
  const statement = {
    _type: "https://in-toto.io/Statement/v1",
    subject: [{ name: `event-anchoring:${version}`, digest: { sha256: digest.replace("sha256:", "") } }],
    predicateType: "https://slsa.dev/provenance/v1",
    predicate: {
      buildDefinition: {
        buildType: BUILD_TYPE,
        externalParameters: {
          configSource: { ...source, path: "deploy/Dockerfile" },
          request: {
            frontend: "dockerfile.v0",
            args: { platform, "build-arg:SOURCE_DATE_EPOCH": String(sourceDateEpoch) },
          },
        },
        resolvedDependencies: [source, dependencyOf(base)],
      },
      runDetails: { builder: { id: BUILDER } },
    },
  };
  return `${JSON.stringify(statement, null, 2)}\n`;
}

/** A tag alone is no digest, and none is made up for it: then the statement does not say which bytes it stood for. */
function dependencyOf(base: string): object {
  const [, name = base, tag = "", sha256] = /^([^:@]+)(?::([^@]+))?(?:@sha256:([0-9a-f]{64}))?$/u.exec(base) ?? [];
  const uri = `pkg:docker/${name}${tag === "" ? "" : `@${encodeURIComponent(tag)}`}`;
  return sha256 === undefined ? { uri } : { uri, digest: { sha256 } };
}
