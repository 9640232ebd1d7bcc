import { browserCommand } from '../../src/cli/open.ts';
import t from '../support/tap.ts';

t.test('a machine without a desktop has no browser', async (t) => {
  t.equal(browserCommand('linux', {}), null);
  t.equal(browserCommand('linux', { BROWSER: '', DISPLAY: '' }), null);
  t.equal(browserCommand('linux', { DISPLAY: ':0' }), 'xdg-open');
  t.equal(browserCommand('linux', { WAYLAND_DISPLAY: 'wayland-0' }), 'xdg-open');
  t.equal(browserCommand('linux', { BROWSER: 'firefox', DISPLAY: ':0' }), 'firefox');
  t.equal(browserCommand('darwin', {}), 'open');
});
