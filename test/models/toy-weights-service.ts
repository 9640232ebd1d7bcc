import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';
import { embedTokens, tokenize, tokens, yesLogit } from './toy-transformer.ts';

/** Renders the pair of a rerank request; services without a template of their own join the texts. */
type PairTemplate = (query: string, document: string) => string;

export interface ToyServiceOptions {
  /** Template of the service; absent: texts are joined as they are. */
  readonly template?: PairTemplate;
  /** Divisor of the logit before the sigmoid; null: the service returns logits. */
  readonly logitScale?: number | null;
}

/**
 * Service with the APIs of vLLM that runs the toy transformer, as a deployment of open weights would. Faults of
 * deployments can be set while it runs.
 */
export class ToyWeightsService {
  readonly url: string;
  /** Whether its tokenizer adds a special token even if the request forbids it. */
  alwaysAddsToken = false;
  /** Whether it returns a vector that does not depend on the order of the tokens. */
  poolsMean = false;
  options: ToyServiceOptions;
  isDown = false;

  private constructor(port: number, options: ToyServiceOptions) {
    this.url = `http://127.0.0.1:${port}/v1`;
    this.options = options;
  }

  static async start(t: Pick<Test, 'teardown'>, options: ToyServiceOptions = {}): Promise<ToyWeightsService> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const service = new ToyWeightsService((server.address() as AddressInfo).port, options);
    server.on('request', (request, reply) => {
      if (service.isDown) return void reply.destroy();
      service
        .#serve(request)
        .then((body) =>
          reply.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
        )
        .catch(() => reply.destroy());
    });
    t.teardown(async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return service;
  }

  async #serve(request: IncomingMessage): Promise<object> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = JSON.parse(Buffer.concat(parts).toString('utf8')) as {
      input: string[];
      add_special_tokens?: boolean;
      query: string;
      documents: string[];
    };
    if (request.url?.endsWith('/embeddings') === true) {
      const isAdded = body.add_special_tokens !== false || this.alwaysAddsToken;
      const data = body.input.map((text, index) => ({ index, embedding: this.#embed(text, isAdded) }));
      return { data, usage: { prompt_tokens: body.input.length } };
    }
    const results = body.documents.map((document, index) => ({
      index,
      relevance_score: this.#score(body.query, document),
    }));
    return { results };
  }

  #embed(text: string, isAdded: boolean): number[] {
    const ids = [...tokenize(text), ...(isAdded ? [tokens.added] : [])];
    if (!this.poolsMean) return [...embedTokens(ids)];
    const rows = ids.map((id) => embedTokens([id]));
    return [...rows[0]!].map((_, i) => rows.reduce((sum, row) => sum + row[i]!, 0) / rows.length);
  }

  #score(query: string, document: string): number {
    const { template = (left: string, right: string) => left + right, logitScale = null } = this.options;
    const logit = yesLogit(tokenize(template(query, document)));
    return logitScale === null ? logit : 1 / (1 + Math.exp(-logit / logitScale));
  }
}
