import { fileURLToPath } from 'node:url';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  threadId,
  workerData,
} from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { buffersOf, packTexts } from '../src/base/packed-texts.ts';
import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { optionalTools } from '../src/parsing/optional-tools.ts';
import type { ParserTask, ParseTask } from '../src/parsing/parse-task.ts';
import { ParserHost } from '../src/parsing/parser-host.ts';
import type { ParserProcessNotice } from '../src/parsing/parser-processes.ts';
import { noSandbox, type Sandbox } from '../src/parsing/sandbox.ts';
import { toolLine } from '../src/parsing/tool-line.ts';

refuseConnections();

/** What the pool gives each of its workers; absent: no sandbox. */
interface ParseWorkerData {
  readonly sandbox: Sandbox;
}

const host = new ParserHost({
  entry: fileURLToPath(new URL('./parser-process.js', import.meta.url)),
  prlimit: optionalTools().prlimit,
  sandbox: (workerData as ParseWorkerData | null)?.sandbox ?? noSandbox,
  onProcess: (event, pid) => {
    parentPort?.postMessage({ type: 'parser-process', event, pid, threadId } satisfies ParserProcessNotice);
  },
  tools: toolLine((message, transfer) => parentPort?.postMessage(message, [...transfer])),
});

/**
 * A message on `line` ends the task with a failure; progress comes back over it. The port closes when the task is over.
 */
type TaskWithLine = ParserTask & { readonly line?: MessagePort };

/** Piscina's entry: a `SentParseOutcome` or `RenderOutcome` per call; failures of the document come back as data. */
export default async function run(task: TaskWithLine): Promise<unknown> {
  const { line } = task;
  const cancelling = new AbortController();
  // A task that was cancelled while it waited for this thread must not begin.
  if (line !== undefined && receiveMessageOnPort(line) !== undefined) cancelling.abort();
  line?.once('message', () => cancelling.abort());
  const { signal } = cancelling;
  try {
    return await (task.kind === 'parse' ? parse(task, line, signal) : host.render(task, signal));
  } finally {
    line?.close();
  }
}

/** Long texts move to the main thread without a copy. */
async function parse(task: ParseTask, line: MessagePort | undefined, signal: AbortSignal): Promise<unknown> {
  const outcome = await host.parse(task, (progress) => line?.postMessage(progress), signal);
  if ('failure' in outcome) return outcome;
  const pages = packTexts(outcome.pages);
  return move({ [transferableSymbol]: buffersOf(pages), [valueSymbol]: { ...outcome, pages } });
}
