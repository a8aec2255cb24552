import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ReleaseError } from "../artefact.ts";
import { run } from "../run.ts";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
}

interface ImageConfig {
  readonly architecture: string;
  readonly config?: { readonly Env?: readonly string[]; readonly Labels?: Readonly<Record<string, string>> };
}

/** One image in a folder: https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md */
export class ImageLayout {
  readonly #folder: string;
  readonly #manifest: Descriptor;
  readonly #layers: readonly Descriptor[];
  readonly config: ImageConfig;

  private constructor(folder: string, manifest: Descriptor, layers: readonly Descriptor[], config: ImageConfig) {
    this.#folder = folder;
    this.#manifest = manifest;
    this.#layers = layers;
    this.config = config;
  }

  /** @throws ReleaseError if there is not one image in it */
  static async unpack(file: string, folder: string): Promise<ImageLayout> {
    await mkdir(folder);
    await run("tar", ["--extract", "--file", file, "--directory", folder]);
    const read = async (path: string): Promise<unknown> => JSON.parse(await readFile(join(folder, path), "utf8"));
    const { manifests } = (await read("index.json")) as { readonly manifests: readonly Descriptor[] };
    const [manifest, ...others] = manifests;
    if (manifest === undefined || others.length > 0) throw new ReleaseError(`${file} has ${manifests.length} images`);
    const parts = (await read(blob(manifest))) as {
      readonly config: Descriptor;
      readonly layers?: readonly Descriptor[];
    };
    if (parts.layers === undefined) throw new ReleaseError(`${file} has a list of images where one is expected`);
    return new ImageLayout(folder, manifest, parts.layers, (await read(blob(parts.config))) as ImageConfig);
  }

  /** `sha256:` and 64 hex digits: the name of the image, wherever it is copied to. */
  get digest(): string {
    return this.#manifest.digest;
  }

  /**
   * Writes the layout as a tar again: the index without the time of the build, and files in one order, with times that
   * are always the same.
   */
  async pack(file: string, sourceDateEpoch: number): Promise<void> {
    const path = join(this.#folder, "index.json");
    const index = JSON.parse(await readFile(path, "utf8")) as { manifests: { annotations?: Record<string, string> }[] };
    for (const { annotations } of index.manifests) delete annotations?.["org.opencontainers.image.created"];
    await writeFile(path, JSON.stringify(index));
    const names = (await readdir(this.#folder)).filter((name) => ["blobs", "index.json", "oci-layout"].includes(name));
    const plain = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX", "--format=ustar"];
    const args = ["--create", "--file", file, "--directory", this.#folder, `--mtime=@${sourceDateEpoch}`];
    await run("tar", [...plain, ...args, ...names.sort()]);
  }

  /** @returns the text of a file of the image; null: there is none */
  async read(path: string): Promise<string | null> {
    for (const layer of this.#layers.toReversed()) {
      const archive = join(this.#folder, blob(layer));
      const names = (await run("tar", ["--list", "--file", archive])).split("\n");
      const name = names.find((each) => each.replace(/^\.\//u, "") === path);
      if (name !== undefined) return run("tar", ["--extract", "--to-stdout", "--file", archive, name]);
    }
    return null;
  }
}

const blob = ({ digest }: Descriptor): string => join("blobs", digest.replace(":", "/"));
