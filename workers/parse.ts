import { fileURLToPath } from 'node:url';
import { type MessagePort, parentPort, threadId } from 'node:worker_threads';
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

/** A message on `cancel` ends the task with a failure; the port closes when the task is over. */
type CancellableTask = ParserTask & { readonly cancel?: MessagePort };

/** Piscina's entry: one document or page image per call; failures of the document come back as data. */
export default async function run(task: CancellableTask): Promise<ParseOutcome | RenderOutcome> {
  task.cancel?.once('message', () => void host.cancel());
  try {
    return await (task.kind === 'parse' ? host.parse(task) : host.render(task));
  } finally {
    task.cancel?.close();
  }
}
