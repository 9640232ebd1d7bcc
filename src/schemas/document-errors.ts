/** What programs tell the failures of documents apart by. They are stored with documents: none is ever renamed. */
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
