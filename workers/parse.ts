import { fileURLToPath } from 'node:url';
import { parentPort, threadId } from 'node:worker_threads';
import { optionalTools } from '../src/parsing/optional-tools.ts';
import type { ParseOutcome, ParserTask, RenderOutcome } from '../src/parsing/parse-task.ts';
import { ParserHost } from '../src/parsing/parser-host.ts';
import type { ParserProcessNotice } from '../src/parsing/parser-processes.ts';

const host = new ParserHost({
  entry: fileURLToPath(new URL('./parser-process.js', import.meta.url)),
  prlimit: optionalTools().prlimit,
  onProcess: (event, pid) => {
    parentPort?.postMessage({ type: 'parser-process', event, pid, threadId } satisfies ParserProcessNotice);
  },
});

/** Piscina's entry: one document or page image per call; failures of the document come back as data. */
export default function run(task: ParserTask): Promise<ParseOutcome | RenderOutcome> {
  return task.kind === 'parse' ? host.parse(task) : host.render(task);
}
