import { formatStartScreen } from '../../src/app/start-screen.ts';
import t from '../support/tap.ts';

const facts = {
  version: '1.2.3',
  url: 'http://127.0.0.1:8720',
  signInUrl: 'http://127.0.0.1:8720/link',
  apiKey: 'earlier',
  organizationId: 'o-1',
  data: '/srv/quarry',
  collections: 3,
  program: './quarry',
} as const;

t.test('the start screen has eight lines', async (t) => {
  t.same(formatStartScreen(facts), [
    'Quarry 1.2.3',
    '  Address       http://127.0.0.1:8720 (documentation: http://127.0.0.1:8720/docs)',
    '  Dashboard     http://127.0.0.1:8720/link (works once, within 15 minutes)',
    '  API key       shown at the first start; create another one in the dashboard',
    '  Organization  o-1',
    '  Data          /srv/quarry',
    '  Collections   3',
    'Ctrl-C to stop',
  ]);
  const first = formatStartScreen({ ...facts, apiKey: { created: 'ze_x' }, collections: 0 }).join('\n');
  t.match(first, '  API key       ze_x (shown only once)\n');
  t.match(first, 'or try: ./quarry sample\n');
  t.match(formatStartScreen({ ...facts, apiKey: 'setting' })[3], 'QUARRY_API_KEY');
});
