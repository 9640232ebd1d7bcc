import { formatTraceParent, parseTraceParent } from '../../src/tracing/traceparent.ts';
import t from '../support/tap.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

t.test('valid headers of W3C Trace Context', async (t) => {
  t.same(parseTraceParent(`00-${traceId}-${spanId}-01`), { traceId, spanId, isSampled: true });
  t.same(parseTraceParent(` 00-${traceId}-${spanId}-00 `), { traceId, spanId, isSampled: false });
  t.same(parseTraceParent(`01-${traceId}-${spanId}-03-later`), { traceId, spanId, isSampled: true });
  t.equal(formatTraceParent({ traceId, spanId }), `00-${traceId}-${spanId}-01`);
});

t.test('invalid headers count as absent', async (t) => {
  const headers = [
    '',
    'x',
    `00-${traceId}-${spanId}`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}-${spanId}-01-more`,
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `00-${traceId.toUpperCase()}-${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
  ];
  for (const header of headers) t.equal(parseTraceParent(header), null, header);
});
