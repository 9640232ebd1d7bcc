import t from 'tap';
import { isLoopback } from '../../src/http/origin.ts';

t.test('only addresses of the machine itself count as local', (t) => {
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
