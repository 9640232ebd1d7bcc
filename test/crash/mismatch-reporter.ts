/** Kind of mismatch between a server and its model. */
export type MismatchKind = 'lost' | 'duplicated' | 'resurrected' | 'search';

/** Receiver of mismatches: a test, or a part of the campaign. */
export interface MismatchReporter {
  fail(message: string, details: { readonly kind: MismatchKind; readonly [name: string]: unknown }): unknown;
  same(
    actual: unknown,
    expected: unknown,
    message: string,
    details: { readonly kind: MismatchKind },
  ): unknown;
}
