import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { checkEqualToOrigins } from './source-rounds.ts';
import {
  followBucket,
  followFolder,
  followMail,
  followWebDav,
  followWebsite,
  joinSourceServer,
} from './source-server.ts';

/**
 * Each kind of source equals its origin after random changes with kills of the server, and is the only one that runs when
 * the server is killed. `SOURCE_CHANGES=1000` makes a longer run.
 */

t.setTimeout(testFileMsMax);
const changesPerRound = Math.ceil(Number(process.env.SOURCE_CHANGES ?? 200) / 4);
const joined = await joinSourceServer();
const options = { server: joined.server, api: joined.api, changesPerRound };

await t.test('a folder equals its collection after random changes', async (t) => {
  await checkEqualToOrigins(t, [await followFolder(joined, 'folder')], options);
});

await t.test('a bucket equals its collection after random changes', async (t) => {
  await checkEqualToOrigins(t, [await followBucket(joined, 'bucket')], options);
});

await t.test('a WebDAV folder equals its collection after random changes', async (t) => {
  await checkEqualToOrigins(t, [await followWebDav(joined, 'webdav')], options);
});

await t.test('a mail account equals its collection after random changes', async (t) => {
  await checkEqualToOrigins(t, [await followMail(joined, 'mail')], options);
});

await t.test('a website equals its collection after random changes', async (t) => {
  await checkEqualToOrigins(t, [await followWebsite(joined, 'website')], options);
});
