/** Bounds that every replica shares. They are part of what an entry means: changing one needs a new entry version. */
export const LIMITS = {
  /** Commands in one entry; every event of a batch counts as one. */
  entryCommandsMax: 1024,
  /** Bytes of one encoded entry. */
  entryBytesMax: 1024 * 1024,
  /** Commands in one entry whose signatures every replica has to verify. */
  entrySignedCommandsMax: 256,
  /** Quorum certificates that one entry may record. */
  entryCertificatesMax: 64,
  /** Groups in one entry. */
  entryGroupsMax: 1024,
  /** Events in one batch. */
  batchEventsMax: 1000,
  /** Cosignatures of one certificate: as many lines as a signed note may have. */
  certificateCosignaturesMax: 64,
  /** Characters of a client event id: printable ASCII. */
  clientEventIdCharsMax: 128,
  /** Characters of an API key's label and of an operator's name: printable ASCII. */
  labelCharsMax: 128,
  /** Bytes of a signed trust-root document. */
  trustRootBytesMax: 256 * 1024,
  /** For how many raft indexes the id of a decided group is remembered; also how long a group may travel. */
  groupIdEntriesKept: 50_000,
  /** Live keys of one API client: the one in use, and the one it is being replaced with. */
  liveApiKeysPerClientMax: 2,
  /** Grants from a root grant to the last one of its chain, both included. */
  delegationLinksMax: 10_000,
  /** How far a stated time of issue may lie ahead of the time of its entry. */
  issuedAtLeadMsMax: 300_000,
} as const;
