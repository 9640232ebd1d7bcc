import { AppError } from '../core/app-error.ts';
import { type McpApi, pageImageWidth } from '../mcp/mcp-api.ts';
import type { GetModelListResponse } from '../schemas/models.ts';
import { type ApiClient, ApiResponseError } from './api-client.ts';
import type { CommandContext, CommandOptions, CommandSpec } from './command.ts';
import { exitCodes } from './exit-codes.ts';
import { quarryVersion } from './local-commands.ts';

export const mcpCommand: CommandSpec = {
  usage: 'mcp',
  settings: 'client',
  summary: 'serve the Model Context Protocol on standard input and output, for a running server',
  options: [{ flags: '--write', meaning: 'offer the tools that add and delete documents' }],
  examples: ['quarry mcp', 'quarry mcp --write --key <key>'],
  run,
};

async function run(
  context: CommandContext,
  _args: readonly string[],
  options: CommandOptions,
): Promise<number> {
  const { api, signal, terminal } = context;
  const { serveMcpOverStdio } = await import('../mcp/mcp-server.ts');
  const identity = {
    version: quarryVersion(),
    onError: (error: Error) => terminal.note(`quarry mcp: ${error.message}\n`),
  };
  await serveMcpOverStdio(new HttpOperations(api, options.write === true), identity, signal);
  return exitCodes.done;
}

/** Calls the operations of a running server. The key decides whether they may write. */
class HttpOperations implements McpApi {
  readonly mayWrite: boolean;
  readonly #api: ApiClient;
  /** Null until a server with a chat model has replied. */
  #chatModel: string | null = null;

  constructor(api: ApiClient, mayWrite: boolean) {
    this.mayWrite = mayWrite;
    this.#api = api;
  }

  /** A server that does not reply offers no answers; the other tools report the error. */
  async mayAnswer(): Promise<boolean> {
    try {
      this.#chatModel ??= (
        await this.#api.call<GetModelListResponse>('models/get-model-list', {})
      ).chat_model;
      return this.#chatModel !== null;
    } catch (error) {
      if (error instanceof AppError || error instanceof ApiResponseError) return false;
      throw error;
    }
  }

  call(operation: string, request: object): Promise<unknown> {
    return withAppError(() => this.#api.call(operation, request));
  }

  fetchPageImage(imageUrl: string): Promise<Uint8Array> {
    return withAppError(async () => {
      const reply = await this.#api.send(`${imageUrl}&width=${pageImageWidth}`, { method: 'GET' });
      return new Uint8Array(await reply.arrayBuffer());
    });
  }
}

/** Converts errors of the server to errors that the tools report. */
async function withAppError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ApiResponseError)) throw error;
    throw new AppError(error.status === 404 ? 'not_found' : 'bad_request', error.message, { cause: error });
  }
}
