import { findStoreConflicts } from '../../src/config/store-conflicts.ts';
import t from '../support/tap.ts';

const store = 'postgres://quarry:secret@127.0.0.1/quarry';
const files = 'file:///shared/quarry';

function problems(values: Partial<Parameters<typeof findStoreConflicts>[0]>): string[] {
  return findStoreConflicts({ store: null, files: null, data: '/srv/data', egress: 'configured', ...values });
}

t.test('database and files belong together', async (t) => {
  t.same(problems({}), []);
  t.same(problems({ store, files }), []);
  t.same(problems({ store, files: 's3://bucket/folder' }), []);
  t.match(problems({ store }), [/QUARRY_STORE is set without QUARRY_FILES/]);
  t.match(problems({ files }), [/QUARRY_FILES is set without QUARRY_STORE/]);
});

t.test('a database that cannot be used is refused', async (t) => {
  t.match(problems({ store: 'postgres://quarry@db.example/quarry', files }), [/without verified TLS/]);
  t.match(problems({ store, files, egress: 'none' }), [/QUARRY_EGRESS is none/]);
});

t.test('the files are outside the data directory, which may be deleted', async (t) => {
  t.match(problems({ store, files: 'file:///srv/data/files' }), [/must be outside the data directory/]);
  t.match(problems({ store, files: 'file:///srv/data' }), [/must be outside/]);
  t.same(problems({ store, files: 'file:///srv/data-files' }), []);
  t.match(problems({ store, files: 'file:///a%2Fb' }), [/is not the URL of a folder/]);
});
