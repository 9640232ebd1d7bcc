import {
  chmodSync,
  chownSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../src/core/root.ts';
import t from '../support/tap.ts';
import { addonSteps, ended, freshClone, runSteps, start } from './fake-clone.ts';

t.test('an addon that this user compiled from the same sources is taken from the cache', async (t) => {
  const folder = freshClone(t);
  await ended(start(folder, ['status']));
  runSteps(folder);
  const addon = join(folder, 'build', 'Release', 'quarry.node');
  const startAgain = async (variables: Record<string, string> = {}) => {
    rmSync(join(folder, 'build'), { recursive: true, force: true });
    const { code, err } = await ended(start(folder, ['status'], variables));
    t.equal(code, 0, err);
    return { err, steps: runSteps(folder), addon: readFileSync(addon, 'utf8') };
  };
  t.match(await startAgain(), { err: /using the cached one/, steps: [], addon: 'compiled quarry' });
  t.match(await startAgain({ CXXFLAGS: '-g' }), { err: /compiling the native engine/, steps: addonSteps });

  const cache = join(folder, 'home', '.cache', 'quarry', 'native');
  const [name = ''] = readdirSync(cache);
  chmodSync(join(cache, name), 0o666);
  t.match(await startAgain(), { err: /another user can change .*\.node/, steps: addonSteps });
  chmodSync(cache, 0o777);
  t.match(await startAgain(), { err: /another user can change .*native;/, steps: addonSteps });
  chmodSync(cache, 0o700);
  if (process.getuid?.() === 0) {
    chownSync(join(cache, name), 65_534, 65_534);
    t.match(await startAgain(), { err: /another user can change/, steps: addonSteps });
  }
  rmSync(join(cache, name));
  writeFileSync(join(folder, 'foreign.node'), 'foreign');
  symlinkSync(join(folder, 'foreign.node'), join(cache, name));
  t.match(await startAgain(), { steps: addonSteps, addon: 'compiled quarry' }, 'a link is not followed');
  t.same((await startAgain()).steps, [], 'the link was replaced');
  writeFileSync(join(folder, 'native', 'a.cc'), 'two');
  t.same((await startAgain()).steps, addonSteps, 'other sources have another entry');
});

t.test('the cache keeps the eight addons used last', async (t) => {
  const { writeCachedAddon } = (await import(join(projectRoot, 'bin', 'addon-cache.js'))) as {
    writeCachedAddon(fingerprint: string, content: Buffer, variables: Record<string, string>): void;
  };
  const variables = { XDG_CACHE_HOME: t.testdir({}) };
  const cache = join(variables.XDG_CACHE_HOME, 'quarry', 'native');
  for (let version = 0; version < 10; version += 1) {
    writeCachedAddon(String(version), Buffer.from('compiled'), variables);
    utimesSync(join(cache, `${version}.node`), version, version);
  }
  t.same(
    readdirSync(cache).sort(),
    [2, 3, 4, 5, 6, 7, 8, 9].map((version) => `${version}.node`),
  );
});
