/**
 * Keys and signatures of the ledger that the reference shows. Seeds are SHA-256 of "event-anchoring example key: " and
 * the name, so anybody can make them again; they protect nothing. The test of the examples prints this table anew.
 */

/** Ed25519 public keys, by whose they are. */
export const EXAMPLE_KEYS = {
  root: "11894d46416addbcd2eec9590defcf50a52c06d64d86ac467242b66b8fdf19d9",
  "cosigner n1": "8527a1e20561dca1f33c0154f34a1dc6208efa54cae46ad20473ca8e08f8098e",
  "auth n1": "9f8b12a8739933b9a63e55d01965c0508fe35c5cae25ea37171253a7e60cbe7f",
  "log n1": "a662ea9ca3f4f44aa229a1f1da76ab3c20e6db81aefd931114ba3cb8ec8091bd",
  "cosigner n2": "885b84010bea1786a21a5517cb7768378e32cc41de9c95a8f0dc672f7ad8684b",
  "auth n2": "e337b20c2c9835cac5efc4fa689f58f94276cf43a3a63cd951fce2e5f3941163",
  "log n2": "5065248d08e8ddda989e617f94e1d2c57cfe507bc515de048411505e7e095ae9",
  "cosigner n3": "fa9e3d68ea5d899507f2e23fef6fb4e45584e69e11f440df8407b4631e18f65f",
  "auth n3": "dae42ea1212884d92b304bd7abb764ed1206054fa28d17e9860fdd35b34da083",
  "log n3": "ed5cd7676fc4609949fae8294f31b7756d4a69dee85beffcd23bbd417c3816b5",
  organisation: "8b9381a127f4b515b875a06a53076b93ab83a16fe199c8de5818111347df950c",
  agent: "507e29554d465a1484944e0d87c9681562404abb6f648581a9794ba4a22f37a7",
  issuer: "ea43ec48ead1c486586e05e1d635bb7053c3d5256dc9e8df01bbfe0fdfc9a320",
  witness: "c7ed72f9a7011f615f5423779c3f90cf77a516538d06e6ea890e4f2d831ef694",
} as const;

export type ExampleKey = keyof typeof EXAMPLE_KEYS;

/** Signatures, by what they are for: R and S. */
export const EXAMPLE_SIGNATURES = {
  root: [
    "abccac5f4b7f277603eec1ce4349ac00cf4ff8899a64013ce32b19ef768ee1ce",
    "1ec1f932d1ad18300a8a7d920db55870dd1c7b2d81da0eaedc0bcd6d76859c00",
  ],
  "subject organisation": [
    "54f5361ad0877d8012a7470022d13c02566325ed926b59f12a2e124cb5bf5635",
    "350d68291ba19a2868475f78a524f3fec3eabf168b752dff16bf7ee1d0e9540a",
  ],
  "issuer organisation": [
    "21d53aa4f02eaea7bd2f9dcbcc9d5922516ef5658f86ef3a2ba73e6295a9d737",
    "702dec1820a6452af15dfe5f4f7d2cad36bc12e07a97924ffc6edda2a8df8008",
  ],
  "subject agent": [
    "e10cb59cf05cfe9e20a259161cd45dfef0a4cecac82ec0fde49ac2c554a5ee16",
    "45b7fefbe3afff7b8b30cd0fcf65a634c8308ba0dc726a69c38a3d62d8eabb00",
  ],
  "issuer agent": [
    "bccc129a00b3e11a6684c01976af8ac93bfe2f6e6bf7d067221d002bb9f358d6",
    "b9d5da38e775267b719799d86ccc1391f4d4f8678ebdc0575639e7442f8ed30f",
  ],
  grantor: [
    "6ef445d506003704af1193dd56d8cfa4e2ed7029a7fa71248003a6de8bc1a44a",
    "6fb18eb7f1ce43fdb56a4be421f1b621e48ec22838867a2cbe96c8351ad18b0e",
  ],
  witness: [
    "050de53b7e81b306108a0710a745bb81b69a94b89e4e2fc66ec4d94e7b9c95fe",
    "0aef5c68618972fb97fdc73eb2fb41f51046552259649ef2317af7f303d8fb00",
  ],
  actor: [
    "488f3b24b918097a71d8da554265426f37239700e3874856c61c5a6d3dab5288",
    "e6e957e82e61b3d811a003ce601035361417e670ec0ff4021090a09afe5b7302",
  ],
  "log before": [
    "598cbbc433d8caf654f69e8e17f8ee0a5b62cf0b8d41e8fc20808643c522fc7a",
    "c29c26f21c9e7bd05af083a1d4fcaf13a22a170e49602ffed28db3b47ddacf0d",
  ],
  "cosigner n1 before": [
    "15e338c7cfd894f596958179b1d77f7487cb7bec6ec9d7c2a07d0259e2f85298",
    "6519cd1a28b8d8d2b1fc688ca7b3d379a028ee503f6d2e3294df8636cf7f7603",
  ],
  "cosigner n2 before": [
    "c13d1d89afa239f5ae146f48ede5dda4e5abfa9905f4810e503361aa67309f51",
    "838f8e449f0d38126291d7eff10a051079202b9b0214e82d69a8ee087058220c",
  ],
  revoker: [
    "25bf54f81c48874d793bef2bcf3cf9a49776ecdac4a3380aef8b6690328d1b36",
    "6dc246cf442a99c17a3ad7aa492b398f05f890b164378a0f5674b343cd0f6d0a",
  ],
  "log after": [
    "4541f30c6285afae6b7033bb03e13984decbce5157bca76950537cf8a99b6beb",
    "6ad89328254f94d676541ae346d54794e786ffd9769203f4d2b3fa4789343c06",
  ],
  "cosigner n1 after": [
    "9ba5dc264e7b3b6fd5d12a6f9786405840d6f3509604c66886787f4d0763cbce",
    "796b4b5a3ac297981db64c5b8e3adc1a5a0f879aea05a2570521b13db5ab2f08",
  ],
  "cosigner n2 after": [
    "2bd9e4bd80bd52ef6a396cbf99f0cfddaf2c74cfe8cd0060635c9a309cc39a24",
    "b8bca986861d40e277c1f28d165b338c4287a7360a8050f79aed75248805d003",
  ],
} as const;

export type ExampleUse = keyof typeof EXAMPLE_SIGNATURES;
