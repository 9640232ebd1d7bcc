/** Whether an error of Node.js has one of these codes, such as `ENOENT`. */
export function hasErrorCode(error: unknown, ...codes: readonly string[]): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && codes.includes(code);
}
