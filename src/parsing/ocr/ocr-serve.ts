import { createWorker, PSM, type Worker } from 'tesseract.js';
import { assert } from '../../core/assert.ts';
import type { ParserMessage, ParserRequest } from '../process/parser-messages.ts';
import { startWatchdog } from '../process/watchdog.ts';
import { parseOcrTable } from './ocr-text.ts';

/**
 * Runs the process of the embedded OCR engine: one image at a time over the IPC channel. Its arguments are
 * the folder of the language data and the languages; it downloads nothing.
 */
export function serveOcr(watchdog: URL): void {
  startWatchdog(watchdog);
  const [, , folder, languages] = process.argv;
  assert(folder !== undefined && languages !== undefined, 'the host passes the folder of the language data');
  let engine: Promise<Worker> | null = null;
  process.on('message', (request: ParserRequest) => {
    engine ??= openEngine(folder, languages);
    void handleRequest(engine, request);
  });
  sendToHost({ type: 'ready' });
}

async function openEngine(folder: string, languages: string): Promise<Worker> {
  const engine = await createWorker(languages, 1, {
    langPath: folder,
    cacheMethod: 'none',
    errorHandler: () => {}, // the failed call rejects as well
  });
  await engine.setParameters({ tessedit_pageseg_mode: PSM.AUTO });
  return engine;
}

async function handleRequest(engine: Promise<Worker>, request: ParserRequest): Promise<void> {
  try {
    if (request.type !== 'recognize')
      throw new Error(`unexpected request to the OCR process: ${request.type}`);
    const { data } = await (await engine).recognize(
      Buffer.from(request.image),
      {},
      { text: false, tsv: true },
    );
    const ocrText = parseOcrTable(data.tsv ?? '');
    sendToHost({ type: 'recognized', ...ocrText, residentBytes: process.memoryUsage.rss() });
  } catch (error) {
    // The message becomes a warning of the document: only its first line is free of paths of this machine.
    const [reason] = (error instanceof Error ? error.message : String(error)).split('\n');
    sendToHost({
      type: 'fail',
      code: 'crash',
      message: `The embedded OCR engine failed: ${reason}`,
      fatal: true,
      residentBytes: process.memoryUsage.rss(),
    });
  }
}

function sendToHost(message: ParserMessage): void {
  process.send?.(message, undefined, {}, () => {}); // ignore errors: the host may be gone
}
