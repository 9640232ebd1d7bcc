import { ParseFailure } from '../parse-failure.ts';
import type { DocumentTools, OfficeExtension, ToolReply } from './document-tools.ts';

/**
 * Returns the bytes of the current document as converted by LibreOffice, or the reason for failure: `missing`
 * when LibreOffice is not available, `failed` with a code when the conversion failed. Runs only inside the
 * parser process.
 */
export async function convertOfficeDocument(
  from: OfficeExtension,
  to: 'pdf' | 'xlsx',
  tools: DocumentTools,
): Promise<Uint8Array | Extract<ToolReply, { kind: 'missing' | 'failed' }>> {
  tools.reportProgress({ stage: 'converting', page: 0, of: null });
  const reply = await tools.request({ kind: 'convert', from, to });
  switch (reply.kind) {
    case 'bytes':
      return reply.bytes;
    case 'missing':
    case 'failed':
      return reply;
    case 'text':
    case 'file':
      throw new ParseFailure('crash', 'LibreOffice returned an unexpected reply.');
  }
}
