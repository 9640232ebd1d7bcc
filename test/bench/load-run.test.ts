import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { BenchApiClient } from '../../bench/harness/api.ts';
import { fillCollections } from '../../bench/harness/collections.ts';
import { Corpus } from '../../bench/harness/corpus.ts';
import { LatencyHistogram } from '../../bench/harness/histogram.ts';
import { type LoadJob, type LoadOutcome, runLoad } from '../../bench/harness/load-run.ts';
import { readCommandLine } from '../../bench/harness/options.ts';
import { BenchProgress } from '../../bench/harness/progress.ts';
import t, { type Test } from '../support/tap.ts';

/** Starts a server in this process; returns its port. */
async function startHttpServer(t: Test, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

const job: LoadJob = {
  from: 0,
  connections: 3,
  warmUpMs: 20,
  measureMs: 500,
  ratePerSecond: null,
  serverPid: process.pid,
};

function requests(count: number): Uint8Array[] {
  return Array.from({ length: count }, (_, i) => Buffer.from(`GET /${i} HTTP/1.1\r\nhost: here\r\n\r\n`));
}

function latenciesOf({ latencies }: LoadOutcome): LatencyHistogram {
  const histogram = new LatencyHistogram();
  histogram.add(latencies);
  return histogram;
}

t.test(
  'a closed loop keeps one request in flight on each connection and sends the questions in turn',
  async (t) => {
    const requestedUrls: number[] = [];
    let running = 0;
    let runningMost = 0;
    const port = await startHttpServer(t, (request, response) => {
      requestedUrls.push(Number(request.url?.slice(1)));
      running += 1;
      runningMost = Math.max(runningMost, running);
      setTimeout(() => {
        running -= 1;
        response.end('answer');
      }, 1);
    });
    const outcome = await runLoad({ port, requests: requests(5) }, { ...job, from: 2 });
    t.equal(runningMost, job.connections);
    t.equal(outcome.sent, requestedUrls.length);
    // Three connections send their requests concurrently, so the order is not deterministic.
    t.same(
      requestedUrls.toSorted((a, b) => a - b),
      requestedUrls.map((_, i) => (2 + i) % 5).toSorted((a, b) => a - b),
      'each question is sent equally often',
    );
    t.ok(outcome.replies > 0 && outcome.replies <= outcome.sent);
    t.ok(outcome.latencies.values > 0);
    t.equal(outcome.abandoned, 0);
    t.equal(outcome.rejected, 0);
    t.ok(outcome.windowMs >= job.measureMs - 1);
  },
);

t.test('an open loop adds a stall of the server to the latency of every waiting request', async (t) => {
  const stallMs = 400;
  const everyMs = 10;
  const measureMs = 1_000;
  const stalledFor = async (ratePerSecond: number | null) => {
    const startedMs = performance.now();
    let stalled = false;
    const port = await startHttpServer(t, (_, response) => {
      const stalls = !stalled && performance.now() > startedMs + 300;
      stalled ||= stalls;
      if (stalls) setTimeout(() => response.end('answer'), stallMs);
      else response.end('answer');
    });
    return runLoad(
      { port, requests: requests(1) },
      { ...job, connections: 1, warmUpMs: 0, measureMs, ratePerSecond },
    );
  };
  const open = await stalledFor(1_000 / everyMs);
  // About a hundred requests are sent; forty are due during the stall and wait 400 to 0 ms for its end.
  const latencies = latenciesOf(open);
  t.ok((latencies.quantileMs(0.8) ?? 0) >= stallMs / 4, `p80 ${latencies.quantileMs(0.8)} ms`);
  t.ok((latencies.mostMs ?? 0) >= stallMs - 5);
  // A loaded machine ends the window late: it is then longer than the time in which requests are due.
  t.ok(
    latencies.values >= measureMs / everyMs - 3 && latencies.values <= open.windowMs / everyMs + 3,
    `${latencies.values} were due in ${open.windowMs} ms, stall or not`,
  );
  t.equal(open.lateness.values, latencies.values, 'every due request has a latency');
  const closed = await stalledFor(null);
  t.ok((latenciesOf(closed).mostMs ?? 0) >= stallMs - 5, 'the maximum of a closed loop shows the stall too');
});

t.test('rejected requests are counted with the first error text, and not as throughput', async (t) => {
  const port = await startHttpServer(t, (_, response) => {
    response.writeHead(429, { 'content-length': 8 }).end('too much');
  });
  const outcome = await runLoad({ port, requests: requests(1) }, job);
  t.equal(outcome.replies, 0);
  t.equal(outcome.rejected, outcome.sent);
  t.match(outcome.firstRejection, /429 Too Many Requests\ntoo much/);
});

t.test('a server that stops ends the run with an error message', async (t) => {
  let served = 0;
  const port = await startHttpServer(t, (_, response) => {
    served += 1;
    if (served < 5) response.end('answer');
    else response.destroy();
  });
  await t.rejects(runLoad({ port, requests: requests(1) }, job), /ended a connection|ECONNRESET/);
  await t.rejects(runLoad({ port: 1, requests: requests(1) }, job), /ECONNREFUSED/);
});

interface IngestRequest {
  readonly collection_name: string;
  readonly documents?: readonly object[];
}

t.test('collections are filled in a seeded order in which none is always first', async (t) => {
  const plans = [1, 8, 16].map((shards) => ({ name: `of ${shards}`, shards, documents: 4 * 256 }));
  const orderOf = async (seed: number) => {
    const requestedUrls: string[] = [];
    const port = await startHttpServer(t, (request, response) => {
      void json(request).then((body) => {
        const { collection_name: name, documents } = body as IngestRequest;
        if (documents !== undefined) requestedUrls.push(name);
        const results = documents?.map(() => ({ status: 201 }));
        response.end(JSON.stringify({ results, num_indexed_documents: 1_024, num_failed_documents: 0 }));
      });
    });
    const api = new BenchApiClient({ url: `http://127.0.0.1:${port}`, key: 'key' });
    const corpus = new Corpus({ seed, documents: 1_024, wordsPerDocument: 5 });
    const options = { ...readCommandLine([]).optionsFor(''), seed };
    const context = { options, progress: new BenchProgress(), signal: new AbortController().signal };
    const filled = await fillCollections({ api, pid: process.pid }, plans, corpus, context);
    t.same(
      filled.map(({ plan, portions }) => [plan.name, portions.length]),
      plans.map(({ name }) => [name, 4]),
    );
    // A portion consists of four requests.
    t.equal(requestedUrls.shift(), 'warm-up');
    return requestedUrls.filter((_, i) => i % 4 === 0);
  };
  const order = await orderOf(1);
  const firsts = order.filter((_, i) => i % plans.length === 0);
  t.equal(firsts.length, 4);
  t.ok(new Set(firsts).size > 1, `first in each turn: ${firsts.join(', ')}`);
  t.same(await orderOf(1), order, 'the same seed, the same order');
  t.notSame(await orderOf(2), order);
});
