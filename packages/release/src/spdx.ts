import type { Part } from "./contents.ts";

/** The list of what each artefact contains: https://spdx.github.io/spdx-spec/v2.3/ */
export const SPDX_FILE = "SBOM.spdx.json";

/** A file, or a folder, of a release. */
export interface Artefact {
  readonly name: string;
  /** 64 hex digits; null: a folder, each file of which is in the sums. */
  readonly sha256: string | null;
  readonly parts: readonly Part[];
}

export interface SpdxOrder {
  readonly version: string;
  readonly sourceDateEpoch: number;
  /** 64 hex digits that tell this release from any other: documents of SPDX have names that differ. */
  readonly digest: string;
  readonly artefacts: readonly Artefact[];
}

const UNKNOWN = "NOASSERTION";
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
const idOf = (...words: readonly string[]): string => `SPDXRef-${words.join("-").replaceAll(/[^A-Za-z0-9.-]+/gu, "-")}`;
const partId = ({ registry, name, version }: Part): string => {
  // A scope is no letter less than a slash: `@a/b` and `a-b` differ.
  const plain = name.replace("@", "at.").replace("/", ".");
  return idOf(registry, plain, version ?? "any");
};

/** Writes the list, as one JSON document with one line break at its end. */
export function spdxOf({ version, sourceDateEpoch, digest, artefacts }: SpdxOrder): string {
  const parts = new Map(artefacts.flatMap((each) => each.parts).map((part) => [partId(part), part]));
  const ids = [...parts.keys()].sort(byText);
  const sorted = artefacts.toSorted((a, b) => byText(a.name, b.name));
  const document = {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `event-anchoring-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/event-anchoring-${version}-${digest}`,
    creationInfo: {
      created: new Date(sourceDateEpoch * 1000).toISOString().replace(".000Z", "Z"),
      creators: [`Tool: event-anchoring-release-${version}`],
    },
    documentDescribes: sorted.map(({ name }) => idOf("artefact", name)),
    packages: [...sorted.map(artefactPackage), ...ids.flatMap((id) => partPackage(id, parts.get(id)))],
    relationships: sorted.flatMap(relationshipsOf),
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function artefactPackage({ name, sha256 }: Artefact): object {
  return {
    name,
    SPDXID: idOf("artefact", name),
    packageFileName: name,
    downloadLocation: UNKNOWN,
    filesAnalyzed: false,
    licenseDeclared: "Apache-2.0",
    licenseConcluded: UNKNOWN,
    copyrightText: UNKNOWN,
    ...(sha256 === null ? {} : { checksums: [{ algorithm: "SHA256", checksumValue: sha256 }] }),
  };
}

function partPackage(id: string, part: Part | undefined): readonly object[] {
  if (part === undefined) return [];
  const { registry, name, version, range, license, qualifiers } = part;
  const versions = version ?? range;
  const place = `${name.replace("@", "%40")}${version === null ? "" : `@${encodeURIComponent(version)}`}`;
  const purl = `pkg:${registry}/${place}${qualifiers === undefined ? "" : `?${qualifiers}`}`;
  return [
    {
      name,
      SPDXID: id,
      ...(versions === undefined ? {} : { versionInfo: versions }),
      downloadLocation: UNKNOWN,
      filesAnalyzed: false,
      licenseDeclared: license ?? UNKNOWN,
      licenseConcluded: UNKNOWN,
      copyrightText: UNKNOWN,
      externalRefs: [{ referenceCategory: "PACKAGE_MANAGER", referenceType: "purl", referenceLocator: purl }],
    },
  ];
}

function relationshipsOf({ name, parts }: Artefact): readonly object[] {
  const relations = parts.map((part) => {
    const [from, to] = [idOf("artefact", name), partId(part)];
    const isReversed = part.relation === "BUILD_DEPENDENCY_OF";
    return {
      spdxElementId: isReversed ? to : from,
      relationshipType: part.relation,
      relatedSpdxElement: isReversed ? from : to,
    };
  });
  const texts = new Map(relations.map((relation) => [JSON.stringify(relation), relation]));
  return [...texts.keys()].sort(byText).flatMap((text) => texts.get(text) ?? []);
}
