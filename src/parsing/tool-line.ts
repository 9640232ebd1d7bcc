import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ToolReply, ToolRequest } from './document-tools.ts';
import type { DeskReply } from './tool-desk.ts';

/** Who answers the requests of parser processes: the desk itself, or a line to it from another thread. */
export interface ToolAnswerer {
  ask(request: ToolRequest, signal: AbortSignal): Promise<DeskReply>;
}

/** A request on its way from a parse worker to the main thread. The reply comes over `port`; closing it takes it back. */
interface ToolCall {
  readonly type: 'tool-call';
  readonly request: ToolRequest;
  readonly port: MessagePort;
}

type LineReply = { readonly reply: ToolReply } | { readonly trouble: string };

/** The worker's end: `post` sends a message to the main thread. */
export function toolLine(post: (message: unknown, transfer: readonly MessagePort[]) => void): ToolAnswerer {
  return {
    ask: (request, signal) =>
      new Promise((resolve, reject) => {
        const { port1: here, port2: there } = new MessageChannel();
        const release = async () => here.close();
        const leave = () => here.close();
        here.once('message', (answer: LineReply) => {
          if ('reply' in answer) resolve({ reply: answer.reply, release });
          else {
            here.close();
            reject(new Error(answer.trouble));
          }
        });
        here.once('close', () => {
          signal.removeEventListener('abort', leave);
          resolve({ reply: gone, release });
        });
        signal.addEventListener('abort', leave, { once: true });
        if (signal.aborted) leave();
        post({ type: 'tool-call', request, port: there } satisfies ToolCall, [there]);
      }),
  };
}

const gone: ToolReply = { kind: 'failed', code: 'timeout', message: 'Reading the document was cancelled.' };

/** The main thread's end: true when the message was a call, which is then answered. */
export function answerToolCall(desk: ToolAnswerer, message: unknown): boolean {
  if (!isToolCall(message)) return false;
  const { request, port } = message;
  const left = new AbortController();
  port.once('close', () => left.abort());
  void desk
    .ask(request, left.signal)
    .then(async ({ reply, release }) => {
      port.postMessage({ reply } satisfies LineReply);
      if (!left.signal.aborted) await once(left.signal, 'abort');
      await release();
    })
    .catch((error: unknown) => {
      const trouble = error instanceof Error ? error.message : String(error);
      port.postMessage({ trouble } satisfies LineReply);
    });
  return true;
}

function isToolCall(value: unknown): value is ToolCall {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'tool-call';
}
