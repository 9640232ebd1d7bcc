import { render } from 'preact';
import { keepFocus } from './browser/lost-focus.ts';
import { watchReachability } from './server/reachability.ts';
import { loadSession } from './server/session.ts';
import { Application, startTrouble } from './shell/application.tsx';
import { keepScroll } from './shell/scroll.ts';
import { followTheme } from './shell/theme.ts';
import './style/tokens.css';
import './style/base.css';
import './style/parts.css';
import './style/shell.css';
import './style/pages.css';
import './style/team.css';

followTheme();
watchReachability();
keepScroll();
keepFocus();
loadSession().catch((error: unknown) => {
  startTrouble.value = error;
});

const place = document.getElementById('app');
if (place !== null) render(<Application />, place);
