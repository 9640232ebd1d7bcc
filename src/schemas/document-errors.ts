/** Machine-readable codes of document failures. They are stored with documents, so none is ever renamed. */
export const documentErrorCodes = [
  'unsupported',
  'encrypted',
  'corrupt',
  'too_large',
  'timeout',
  'memory',
  'crash',
  'missing_tool',
] as const;
