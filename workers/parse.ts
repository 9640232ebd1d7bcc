import { fileURLToPath } from 'node:url';
import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  threadId,
  workerData,
} from 'node:worker_threads';
import { move, transferableSymbol, valueSymbol } from 'piscina';
import { countCodePoints } from '../src/core/code-point-counter.ts';
import { encodePages } from '../src/core/line-box-codec.ts';
import { buffersOf, packTexts } from '../src/core/packed-texts.ts';
import { denyConnections } from '../src/egress/deny-connections.ts';
import type { ParserTask, ParseTask } from '../src/parsing/process/parse-task.ts';
import { ParserHost } from '../src/parsing/process/parser-host.ts';
import type { ParserProcessNotice } from '../src/parsing/process/parser-process-registry.ts';
import { findOptionalTools } from '../src/parsing/tools/optional-tools.ts';
import { noSandbox, type Sandbox } from '../src/parsing/tools/sandbox.ts';
import { openToolChannel } from '../src/parsing/tools/tool-channel.ts';

denyConnections();

/** Worker data passed by the pool; absent: no sandbox. */
interface ParseWorkerData {
  readonly sandbox: Sandbox;
  /** Working directory of parser processes. */
  readonly workingFolder: string;
}

const parserHost = new ParserHost({
  entry: fileURLToPath(new URL('./parser-process.js', import.meta.url)),
  prlimit: findOptionalTools().prlimit,
  sandbox: noSandbox,
  ...(workerData as ParseWorkerData | null),
  onProcess: (event, pid) => {
    parentPort?.postMessage({ type: 'parser-process', event, pid, threadId } satisfies ParserProcessNotice);
  },
  tools: openToolChannel((message, transfer) => parentPort?.postMessage(message, [...transfer])),
});

/**
 * A message on `port` cancels the task with a failure; progress is sent over the same port. The port closes
 * when the task is done.
 */
type TaskWithPort = ParserTask & { readonly port?: MessagePort };

/**
 * Entry point for Piscina. Returns a `PackedParseOutcome` or `RenderOutcome`; failures of the document are
 * returned as data.
 */
export default async function run(task: TaskWithPort): Promise<unknown> {
  const { port } = task;
  const cancellation = new AbortController();
  // A task that was canceled while queued for this thread must not start.
  if (port !== undefined && receiveMessageOnPort(port) !== undefined) cancellation.abort();
  port?.once('message', () => cancellation.abort());
  const { signal } = cancellation;
  try {
    return await (task.kind === 'parse' ? parse(task, port, signal) : parserHost.render(task, signal));
  } finally {
    port?.close();
  }
}

/** Long texts move to the main thread without a copy. */
async function parse(task: ParseTask, port: MessagePort | undefined, signal: AbortSignal): Promise<unknown> {
  const outcome = await parserHost.parse(task, (progress) => port?.postMessage(progress), signal);
  if ('failure' in outcome) return outcome;
  const { boxes, ...document } = outcome;
  const pages = packTexts(outcome.pages);
  if (boxes === undefined)
    return move({ [transferableSymbol]: buffersOf(pages), [valueSymbol]: { ...document, pages } });
  const lineBoxes = encodePages(boxes, (page) => countCodePoints(outcome.pages[page]!));
  return move({
    [transferableSymbol]: [...buffersOf(pages), lineBoxes.block.buffer, lineBoxes.lengths.buffer],
    [valueSymbol]: { ...document, pages, lineBoxes },
  });
}
