/**
 * Describes an error for the log. Messages can quote request content; where that must not be stored (zero
 * data retention), only the name and the stack locations remain.
 */
export function describedError(error: unknown, mayLogContent: boolean): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const places = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  const message = mayLogContent ? { message: error.message } : {};
  return { name: error.name, ...message, stack: places.map((line) => line.trim()) };
}
