import { render } from 'preact';
import { restoreLostFocus } from './browser/focus-restoration.ts';
import { watchReachability } from './server/reachability.ts';
import { loadSession } from './server/session.ts';
import { Application, startupError } from './shell/application.tsx';
import { restoreScroll } from './shell/scroll-restoration.ts';
import { applyTheme } from './shell/theme.ts';
import { loadTranslation } from './texts/localize.ts';
import './style/fonts.css';
import './style/tokens.css';
import './style/base.css';
import './style/components.css';
import './style/shell.css';
import './style/pages.css';
import './style/team.css';

// At the same time as the session: the text of the first page then has the font at once.
document.fonts.load('1rem Inter').catch(() => undefined); // Without the file, the system font stays.
applyTheme();
watchReachability();
restoreScroll();
restoreLostFocus();
loadSession().catch((error: unknown) => {
  startupError.value = error;
});

const renderApplication = () => {
  const root = document.getElementById('app');
  if (root !== null) render(<Application />, root);
};
// Without a translation, the dashboard is English.
loadTranslation().then(renderApplication, renderApplication);
