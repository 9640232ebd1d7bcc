import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { ImapOrigin } from './imap-origin.ts';
import { getSource, listHashes, sha256, synchronize } from './source-fixture.ts';
import { addSource, joinSourceServer } from './source-server.ts';

/** Sources of the kind `imap`. */

t.setTimeout(testFileMsMax);
const joined = await joinSourceServer();
const { api, imap: origin } = joined;
const credentials = { username: origin.username, password: origin.password };
const imap = { host: '127.0.0.1', port: origin.port, tls: false };
const hashOf = (id: string, content: string) => sha256(ImapOrigin.render(id, content));

await t.test('documents equal the messages of all mailboxes with mail', async (t) => {
  origin.append('<1@x>', 'granite');
  origin.append('<2@x>', 'basalt é');
  origin.append('<3@x>', 'marked', { isDeleted: true });
  origin.addMailbox('Folder', '\\Noselect');
  origin.addMailbox('Folder/100% Rocks');
  origin.append('<4@x>', 'gneiss', { mailbox: 'Folder/100% Rocks' });
  for (const name of ['All', 'Drafts', 'Junk', 'Trash']) {
    origin.addMailbox(`System ${name}`, `\\${name}`);
    origin.append('<5@x>', 'omitted', { mailbox: `System ${name}` });
  }
  await addSource(joined, 'mail', { imap, credentials });
  t.match((await synchronize(api, 'mail')).last_run, { outcome: 'succeeded', counts: { added: 3 } });
  const expected = new Map([
    ['Folder/100%25 Rocks/1.eml', hashOf('<4@x>', 'gneiss')],
    ['INBOX/1.eml', hashOf('<1@x>', 'granite')],
    ['INBOX/2.eml', hashOf('<2@x>', 'basalt é')],
  ]);
  t.strictSame(await listHashes(api, 'mail'), expected);
  t.match((await api.info('mail', 'INBOX/1.eml')).metadata, {
    source: 'mail',
    source_mailbox: 'INBOX',
    source_from: 'ada@example.com',
    source_message_id: '<1@x>',
    modified_at: '2026-11-24T10:00:00.000Z',
  });
  origin.commands.length = 0;
  t.match((await synchronize(api, 'mail')).last_run?.counts, { unchanged: 3, added: 0 });
  t.notOk(
    origin.commands.some((command) => /FETCH/.test(command)),
    'unchanged messages are not read',
  );
  t.notOk(
    origin.commands.some((command) => /SELECT|STORE/.test(command)),
    'mailboxes are only read',
  );
});

await t.test('messages are deleted, moved, and read again when their numbers change', async (t) => {
  await origin.delete('<1@x>');
  origin.append('<1@x>', 'granite', { mailbox: 'Folder/100% Rocks' });
  t.match((await synchronize(api, 'mail')).last_run?.counts, { added: 1, deleted: 1, unchanged: 2 });
  const mailbox = origin.mailboxes.get('INBOX')!;
  mailbox.validity += 1;
  mailbox.messages.clear();
  mailbox.nextUid = 2;
  origin.append('<6@x>', 'another message with the same number');
  t.match((await synchronize(api, 'mail')).last_run?.counts, { updated: 1, unchanged: 2, deleted: 0 });
  t.equal(
    (await listHashes(api, 'mail')).get('INBOX/2.eml'),
    hashOf('<6@x>', 'another message with the same number'),
  );
  const settings = { ...imap, mailbox: 'Folder' };
  await api.call('sources/update-source', { source_name: 'mail', imap: settings });
  t.match((await synchronize(api, 'mail')).last_run?.counts, { deleted: 1, unchanged: 2 });
  await api.call('sources/update-source', { source_name: 'mail', imap: { ...imap, mailbox: 'None' } });
  t.match((await synchronize(api, 'mail')).last_run, { outcome: 'failed', error: /no mailbox "None"/ });
});

await t.test('a mailbox or server that fails deletes nothing', async (t) => {
  await api.call('sources/update-source', { source_name: 'mail', imap });
  await synchronize(api, 'mail');
  const before = await listHashes(api, 'mail');
  t.equal(before.size, 3);
  origin.brokenMailbox = 'INBOX';
  t.match((await synchronize(api, 'mail')).last_run, {
    outcome: 'partial',
    counts: { failed: 1, deleted: 0 },
  });
  origin.brokenMailbox = null;
  origin.isUnstable = true;
  t.match((await synchronize(api, 'mail')).last_run, { outcome: 'failed', counts: { deleted: 0 } });
  origin.isUnstable = false;
  const { password } = origin;
  origin.password = 'changed';
  t.match((await synchronize(api, 'mail')).last_run, {
    outcome: 'failed',
    error: /rejects the user name or the password/,
  });
  origin.password = password;
  t.match((await synchronize(api, 'mail')).last_run, { outcome: 'succeeded' });
  t.strictSame(await listHashes(api, 'mail'), before);
  t.notMatch(JSON.stringify(await getSource(api, 'mail')), /écret|"ada"/);
});

await t.test('invalid settings and other hosts are rejected', async (t) => {
  await createCollection(api, 'refused');
  const common = { source_name: 'refused', collection_name: 'refused', credentials };
  for (const [status, settings] of [
    [403, { imap: { host: 'mail.example.com' } }],
    [403, { imap: { host: '127.0.0.1', port: 9, tls: false } }],
    [400, { imap: { host: 'https://mail.example.com' } }],
    [400, { imap: { ...imap, port: 0 } }],
    [400, { imap, credentials: null }],
    [400, { imap, credentials: { username: 'ada' } }],
    [400, { imap, credentials: { username: 'a\r\nb', password: 'c' } }],
    [400, { imap, watch: true }],
  ] as const)
    t.equal(
      await api.status('sources/add-source', { ...common, ...settings }),
      status,
      JSON.stringify(settings),
    );
});
