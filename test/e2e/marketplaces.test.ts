import t from '../support/tap.ts';
import './vercel-marketplace.ts';
import './aws-marketplace.ts';
import { marketplaces } from './marketplace-server.ts';

/** Purchases at both marketplaces, one after the other on one server. */

t.test('the log contains no credential', async (t) => {
  const { server, credentials } = marketplaces;
  await server.stop();
  const log = server.fullLog;
  t.match(log, /SNS subscription removed/, 'the removed subscription is logged');
  for (const hidden of credentials()) t.notOk(log.includes(hidden));
});
