import { AppError } from '../../core/app-error.ts';

export interface ServiceClientOptions {
  /** Name of the system, for messages: "Qdrant". */
  readonly system: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Client of another system with a JSON API, whose data is imported. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #base: string;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.#base = options.url.replace(/\/+$/, '');
  }

  get<Reply>(path: string): Promise<Reply> {
    return this.#call(path, { method: 'GET' });
  }

  post<Reply>(path: string, body: object): Promise<Reply> {
    return this.#call(path, { method: 'POST', body: JSON.stringify(body) });
  }

  /** Errors: `bad_gateway` with the reply of the system, `unavailable` if it does not respond. */
  async #call<Reply>(path: string, init: RequestInit): Promise<Reply> {
    const { system, headers, signal } = this.#options;
    const url = `${this.#base}${path}`;
    let response: Response;
    let text: string;
    try {
      const requestHeaders = { 'content-type': 'application/json', ...headers };
      response = await fetch(url, { ...init, headers: requestHeaders, signal });
      text = await response.text();
    } catch (cause) {
      signal.throwIfAborted();
      const { cause: reason, message } = cause as { cause?: Error; message: string };
      throw new AppError(
        'unavailable',
        `${system} at ${url} does not respond: ${reason?.message ?? message}.`,
        {
          cause,
        },
      );
    }
    if (response.ok) return JSON.parse(text) as Reply;
    throw new AppError(
      'bad_gateway',
      `${system} returned status ${response.status} for ${url}: ${text.slice(0, 300)}`,
    );
  }
}
