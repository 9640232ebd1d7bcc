import type { Logger } from '../core/logger.ts';
import type { McpHttp } from '../mcp/mcp-server.ts';

export interface McpOptions {
  /** Whether keys that may write get the tools that write. */
  readonly mayWrite: boolean;
  readonly version: string;
  readonly logger: Logger;
}

/** The MCP server, loaded with its first message. */
export class McpLoader {
  readonly mayWrite: boolean;
  readonly #options: McpOptions;
  #loading: Promise<McpHttp> | null = null;

  constructor(options: McpOptions) {
    this.mayWrite = options.mayWrite;
    this.#options = options;
  }

  load(): Promise<McpHttp> {
    const { version, logger } = this.#options;
    this.#loading ??= import('../mcp/mcp-server.ts').then(({ McpHttp: Loaded }) =>
      Loaded.load({
        version,
        onError: (error) => logger.debug({ reason: error.message }, 'MCP message rejected'),
      }),
    );
    return this.#loading;
  }
}
