import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { checkEqualToOrigins } from './source-rounds.ts';
import {
  followBucket,
  followFeed,
  followFolder,
  followRepository,
  followWebDav,
  followWebsite,
  joinSourceServer,
} from './source-server.ts';

/** Sources of all kinds across kills of the server. */

t.setTimeout(testFileMsMax);
/** At 20 requests per second a website then takes half a second or more. */
const changesPerRound = 10;

await t.test('the documents equal their origins after random changes and kills', async (t) => {
  const joined = await joinSourceServer();
  const { server, api, web, webdav, git } = joined;
  web.pages.clear();
  webdav.files.clear();
  git?.clear();
  // Slow ones first, so that they still run when the last ones have made some changes and the server is killed.
  const followed = [
    await followWebsite(joined, 'random-site'),
    await followFeed(joined, 'random-feed'),
    ...(git === null ? [] : [await followRepository(joined, 'random-repository', git)]),
    await followBucket(joined, 'random-bucket'),
    await followWebDav(joined, 'random-webdav'),
    await followFolder(joined, 'random-folder'),
  ];
  const unused = join(server.data, 'cache', 'git', 'unused');
  mkdirSync(unused, { recursive: true });
  await checkEqualToOrigins(t, followed, { server, api, changesPerRound });
  if (git !== null) t.notOk(existsSync(unused), 'copies of repositories are deleted after a start');
});
