import { Operations } from './generated/operations.ts';
import { type CallOptions, type ClientOptions, type OperationRequest, Transport } from './transport.ts';

export * from './errors.ts';
export type * from './generated/operations.ts';
export type * from './generated/schemas.ts';
export * from './iterators.ts';
export * from './snippets.ts';
export type { CallOptions, ClientOptions, OperationRequest } from './transport.ts';
export type { PutDocumentRequest, UploadContent, UploadDocumentRequest } from './uploads.ts';

/**
 * Client of one server. Operations are grouped: `client.queries.topSnippets(request)`. Temporary failures are retried.
 * Calls throw `QuarryApiError`, `QuarryConnectionError` or `QuarryTimeoutError`.
 */
export class QuarryClient extends Operations {
  readonly #transport: Transport;

  /** Throws `QuarryError` if `baseUrl` is not a URL. */
  constructor(options: ClientOptions) {
    const transport = new Transport(options);
    super(transport);
    this.#transport = transport;
  }

  /** Sends any request, such as one of a newer server, with the key, timeouts, retries and errors of this client. */
  request<Reply>(request: OperationRequest, options?: CallOptions): Promise<Reply> {
    return this.#transport.call<Reply>(request, options);
  }
}
