/** History of certified heads, thinned out: docs/ARCHITECTURE.md, "Old certificates". */
import type { OriginFingerprint } from "@event-anchoring/protocol";
import type { Session } from "../postgres/connection.ts";

export interface ThinCertificatesRequest {
  readonly originFingerprint: OriginFingerprint;
  /** This many of the newest certificates all stay. */
  readonly kept: number;
  /** Certificates of larger trees than this are considered. */
  readonly after: number;
  /** Rows read, 2 at least. */
  readonly rowsMax: number;
}

export interface ThinnedCertificates {
  /** Where the next page begins. */
  readonly after: number;
  readonly deleted: number;
}

/**
 * A row goes if the next larger tree was certified in the same UTC hour under the same trust root. The last row of a
 * page stays for the page after it, which begins with it.
 */
const THIN = {
  name: "thin_certificates",
  text: `WITH page AS (
      SELECT tree_size, hour, version, lead(hour) OVER rising AS next_hour, lead(version) OVER rising AS next_version
      FROM (
        SELECT tree_size, certified_at_s / 3600 AS hour, trust_root_version AS version FROM state.certificates
        WHERE origin = $1 AND tree_size > $2 AND tree_size < (
          SELECT tree_size FROM state.certificates WHERE origin = $1 ORDER BY tree_size DESC OFFSET $3 - 1 LIMIT 1
        )
        ORDER BY tree_size LIMIT $4
      ) AS older WINDOW rising AS (ORDER BY tree_size)
    ), deleted AS (
      DELETE FROM state.certificates AS c USING page
      WHERE c.origin = $1 AND c.tree_size = page.tree_size AND next_hour = hour AND next_version = version
      RETURNING 1
    )
    SELECT (SELECT count(*) FROM deleted) AS deleted, coalesce(max(tree_size) - 1, $2) AS after FROM page`,
};

/** Thins one page of the recorded certificates of an origin. @param origin its number here */
export async function thinCertificates(
  session: Pick<Session, "write">,
  origin: number,
  { kept, after, rowsMax }: ThinCertificatesRequest,
): Promise<ThinnedCertificates> {
  const rows = await session.write<ThinnedCertificates>(THIN, [origin, after, kept, rowsMax]);
  return rows[0] ?? { after, deleted: 0 };
}
