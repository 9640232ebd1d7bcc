import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ToolReply, ToolRequest } from './document-tools.ts';
import type { ToolServerReply } from './tool-server.ts';

/**
 * Executes the requests of parser processes: the `ToolServer` itself, or a channel to it from another thread.
 */
export interface ToolExecutor {
  execute(request: ToolRequest, signal: AbortSignal): Promise<ToolServerReply>;
}

/**
 * Request from a parse worker to the main thread. The reply is sent over `port`; closing the port cancels the
 * request.
 */
interface ToolCall {
  readonly type: 'tool-call';
  readonly request: ToolRequest;
  readonly port: MessagePort;
}

type ToolChannelReply = { readonly reply: ToolReply } | { readonly error: string };

/** Opens the worker side of the channel. `post` sends a message to the main thread. */
export function openToolChannel(
  post: (message: unknown, transfer: readonly MessagePort[]) => void,
): ToolExecutor {
  return {
    execute: (request, signal) =>
      new Promise((resolve, reject) => {
        const { port1: localPort, port2: remotePort } = new MessageChannel();
        const release = async () => localPort.close();
        const closePort = () => localPort.close();
        localPort.once('message', (reply: ToolChannelReply) => {
          if ('reply' in reply) resolve({ reply: reply.reply, release });
          else {
            localPort.close();
            reject(new Error(reply.error));
          }
        });
        localPort.once('close', () => {
          signal.removeEventListener('abort', closePort);
          resolve({ reply: canceledReply, release });
        });
        signal.addEventListener('abort', closePort, { once: true });
        if (signal.aborted) closePort();
        post({ type: 'tool-call', request, port: remotePort } satisfies ToolCall, [remotePort]);
      }),
  };
}

const canceledReply: ToolReply = {
  kind: 'failed',
  code: 'timeout',
  message: 'Parsing of the document was canceled.',
};

/**
 * Handles a message on the main thread. Returns true when the message was a tool call, which is then
 * answered.
 */
export function handleToolCall(executor: ToolExecutor, message: unknown): boolean {
  if (!isToolCall(message)) return false;
  const { request, port } = message;
  const cancellation = new AbortController();
  port.once('close', () => cancellation.abort());
  void executor
    .execute(request, cancellation.signal)
    .then(async ({ reply, release }) => {
      port.postMessage({ reply } satisfies ToolChannelReply);
      if (!cancellation.signal.aborted) await once(cancellation.signal, 'abort');
      await release();
    })
    .catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      port.postMessage({ error: reason } satisfies ToolChannelReply);
    });
  return true;
}

function isToolCall(value: unknown): value is ToolCall {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'tool-call';
}
