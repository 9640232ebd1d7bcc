/** What a disagreement between a server and its model is. */
export type FindingKind = 'lost' | 'duplicated' | 'resurrected' | 'search';

/** Where disagreements are reported: a test, or a part of the campaign. */
export interface Findings {
  fail(message: string, details: { readonly kind: FindingKind; readonly [name: string]: unknown }): unknown;
  same(found: unknown, wanted: unknown, message: string, details: { readonly kind: FindingKind }): unknown;
}
