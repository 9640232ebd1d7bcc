import type { Exchange } from '../../src/http/exchange.ts';
import { isLocalRequest, isLoopback } from '../../src/http/origin.ts';
import t from '../support/tap.ts';

t.test('only loopback addresses count as local', (t) => {
  const local = [
    '127.0.0.1',
    '127.8.9.1',
    '::1',
    '::ffff:127.0.0.1',
    '0000:0000:0000:0000:0000:ffff:7f00:0001',
    '0000:0000:0000:0000:0000:0000:0000:0001',
  ];
  for (const address of local) t.equal(isLoopback(address), true, address);
  const foreign = [
    '',
    '10.0.0.1',
    '128.0.0.1',
    '1270.0.0.1',
    '::2',
    '::ffff:10.0.0.1',
    '::ffff:7e00:1',
    'fe80::1',
    'localhost',
    '127.0.0.1.evil',
  ];
  for (const address of foreign) t.equal(isLoopback(address), false, address);
  t.end();
});

t.test('a request through a local proxy is not local, even without proxy headers', (t) => {
  const from = (host: string, headers: Record<string, string> = {}, clientAddress = '127.0.0.1') =>
    ({ clientAddress, header: (name: string) => ({ host, ...headers })[name] }) as unknown as Exchange;
  const plain = { baseUrl: null, trustProxy: false };
  for (const host of ['localhost', 'localhost:8000', '127.0.0.1:8000', '[::1]:8000', '127.1.2.3'])
    t.equal(isLocalRequest(from(host), plain), true, host);
  for (const host of [
    '',
    'quarry.example.com',
    'quarry.example.com:80',
    'backend',
    '10.0.0.1',
    'localhost.evil.example',
    '::1',
    'a b',
  ])
    t.equal(isLocalRequest(from(host), plain), false, `host ${host}`);
  t.equal(isLocalRequest(from('localhost', {}, '10.0.0.2'), plain), false, 'another machine');
  t.equal(isLocalRequest(from('localhost', { via: '1.1 proxy' }), plain), false, 'a header of a proxy');
  t.equal(
    isLocalRequest(from('localhost'), { baseUrl: null, trustProxy: true }),
    false,
    'behind a trusted proxy',
  );
  t.equal(
    isLocalRequest(from('localhost'), { baseUrl: 'https://quarry.example.com', trustProxy: false }),
    false,
  );
  t.equal(isLocalRequest(from('localhost'), { baseUrl: 'http://127.0.0.1:9000', trustProxy: false }), true);
  t.end();
});
