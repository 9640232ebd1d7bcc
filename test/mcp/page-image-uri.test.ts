import { formatPageImageUri, parsePageImageUri } from '../../src/mcp/page-image-uri.ts';
import t from '../support/tap.ts';

t.test('the URI of a page image can be parsed back to its page', async (t) => {
  const address = { collection: 'a/b c', path: 'x/%2F?#é日.pdf', page: 12 };
  const uri = formatPageImageUri(address);
  t.equal(new URL(uri).href, uri);
  t.same(parsePageImageUri(uri), address);
});

t.test('other URIs name no page', async (t) => {
  const uris = ['quarry://page-images/a/b', 'quarry://page-images/a/b/-1', 'quarry://page-images/a/b/c/1'];
  for (const uri of [...uris, 'file://page-images/a/b/1', 'quarry://page-images/%ff/b/1', ''])
    t.equal(parsePageImageUri(uri), null, uri);
});
