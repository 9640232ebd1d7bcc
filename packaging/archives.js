// Archives with the same bytes for the same content: sorted names, one owner, one time, fixed modes.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './run.js';

const zstdLevel = 9;

/** Writes `name` below `parent` to a .tar.zst. */
export function writeArchive({ parent, name, output, seconds }) {
  const tar = output.replace(/\.zst$/, '');
  run('tar', [
    '--create',
    `--file=${tar}`,
    `--directory=${parent}`,
    '--format=gnu',
    '--sort=name',
    `--mtime=@${seconds}`,
    ...['--owner=0', '--group=0', '--numeric-owner', '--mode=u+rwX,go+rX,go-w'],
    name,
  ]);
  run('zstd', ['--quiet', '--force', '--single-thread', `-${zstdLevel}`, tar, '-o', output]);
  rmSync(tar);
}

/** dpkg-deb sorts names and takes the time from SOURCE_DATE_EPOCH. */
export function writeDebianPackage({ folder, output, seconds }) {
  run('find', [folder, '-exec', 'touch', '--no-dereference', `--date=@${seconds}`, '{}', '+']);
  run('dpkg-deb', ['-Zzstd', `-z${zstdLevel}`, '--root-owner-group', '--threads-max=1', '--build', folder, output], {
    env: { SOURCE_DATE_EPOCH: String(seconds) },
  });
}

/** npm packs with one fixed time and owner. Returns the path of the archive. */
export function writeNpmPackage({ npm, folder, outputs }) {
  const words = [npm, 'pack', folder, '--pack-destination', outputs, '--ignore-scripts', '--json'];
  const [{ filename }] = JSON.parse(run(process.execPath, words));
  return join(outputs, filename);
}
