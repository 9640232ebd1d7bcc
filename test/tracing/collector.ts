import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from '../support/tap.ts';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly status: { readonly code?: number };
}

interface WireAttribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<CollectedSpan, 'attributes'> & {
        readonly attributes: readonly WireAttribute[];
      })[];
    }[];
  }[];
}

const toRecord = (attributes: readonly WireAttribute[]) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** A collector of OTLP over HTTP; `reply` is what it answers. */
export async function startCollector(t: Pick<Test, 'teardown'>) {
  const spans: CollectedSpan[] = [];
  const requests: { headers: Readonly<Record<string, unknown>>; resource: Record<string, unknown> }[] = [];
  const reply = { status: 200, body: '{}' };
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const part of request) text += part;
    const [resourceSpans] = (JSON.parse(text) as WireRequest).resourceSpans;
    requests.push({ headers: request.headers, resource: toRecord(resourceSpans!.resource.attributes) });
    if (reply.status === 200)
      for (const span of resourceSpans!.scopeSpans[0]!.spans)
        spans.push({ ...span, attributes: toRecord(span.attributes) });
    response.writeHead(reply.status, { 'content-type': 'application/json' }).end(reply.body);
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${port}/v1/traces`, port, spans, requests, reply };
}
