/** What a disagreement between a server and its model is. */
export type MismatchKind = 'lost' | 'duplicated' | 'resurrected' | 'search';

/** Where disagreements are reported: a test, or a part of the campaign. */
export interface MismatchReporter {
  fail(message: string, details: { readonly kind: MismatchKind; readonly [name: string]: unknown }): unknown;
  same(
    actual: unknown,
    expected: unknown,
    message: string,
    details: { readonly kind: MismatchKind },
  ): unknown;
}
