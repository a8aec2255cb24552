/** Rows of docs/GLOSSARY.md, written into the page when it is built. */
declare const GLOSSARY: readonly { readonly term: string; readonly meaning: string }[];
