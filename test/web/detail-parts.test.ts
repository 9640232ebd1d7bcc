import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Part {
  readonly kind: 'text' | 'code' | 'guide';
  readonly text: string;
}

const { splitDetail } = await importWebModule<{ splitDetail: (detail: string) => readonly Part[] }>(
  'pages/administration/detail-parts.ts',
);

/** Code is shown as [code], a page of the documentation as <page>. */
function show(detail: string): string {
  const marks = { text: ['', ''], code: ['[', ']'], guide: ['<', '>'] } as const;
  return splitDetail(detail)
    .map(({ kind, text }) => marks[kind][0] + text + marks[kind][1])
    .join('');
}

t.test('paths, settings and commands of a sentence are code, and stay as they are', async (t) => {
  t.equal(show('/srv/quarry/data has format 4'), '[/srv/quarry/data] has format 4');
  t.equal(show('71.0 GB free for /srv/data.'), '71.0 GB free for [/srv/data].');
  t.equal(
    show('QUARRY_BACKUP_TARGET is not set: no scheduled backups'),
    '[QUARRY_BACKUP_TARGET] is not set: no scheduled backups',
  );
  t.equal(show('Run `quarry backup create`.'), 'Run [quarry backup create].');
  t.equal(show('Run `chmod o= /srv/key.pem`.'), 'Run [chmod o= /srv/key.pem].');
});

t.test('an ordinary word at the start is capitalized, a name is not', async (t) => {
  t.equal(show('not installed: bwrap'), 'Not installed: bwrap');
  t.equal(show('loaded'), 'Loaded');
  t.equal(show('node:http serves requests'), 'node:http serves requests');
  t.equal(show(''), '');
});

t.test('pages of the documentation are links, other slashes are text', async (t) => {
  t.equal(show('Set it, see docs/operate/backup.md.'), 'Set it, see <docs/operate/backup.md>.');
  t.equal(
    show('10 / 20 GB, https://example.com/a and text/plain'),
    '10 / 20 GB, https://example.com/a and text/plain',
  );
});
