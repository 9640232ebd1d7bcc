/**
 * An error for the log. Messages can quote what a caller sent; where that may not be kept (zero data retention) only
 * the name and the place in the code stay.
 */
export function describedError(error: unknown, mayQuote: boolean): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const places = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  const message = mayQuote ? { message: error.message } : {};
  return { name: error.name, ...message, stack: places.map((line) => line.trim()) };
}
