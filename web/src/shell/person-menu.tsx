import { Choice } from '../parts/field.tsx';
import { Menu } from '../parts/menu.tsx';
import { toast } from '../parts/toasts.tsx';
import { sentenceOf } from '../server/call.ts';
import { session, signOut } from '../server/session.ts';
import { Picture } from './pictures.tsx';
import { chooseTheme, theme } from './theme.ts';

/** Who is signed in, how the dashboard looks, and the way out. */
export function PersonMenu() {
  if (session.value.state !== 'in') return null;
  const { user } = session.value.who;
  const leave = () => {
    signOut().catch((error: unknown) => toast(sentenceOf(error), 'bad'));
  };
  return (
    <Menu
      class="person"
      name={`${user.name ?? user.email}: account and appearance`}
      label={
        <>
          <span
            class="badge round"
            aria-hidden="true"
            data-letter={[...(user.name ?? user.email)][0]?.toUpperCase()}
          />
          <span class="switcher-name">{user.name ?? user.email}</span>
          <Picture of="down" />
        </>
      }
    >
      <div class="menu-choice">
        <Choice
          legend="Appearance"
          name="theme"
          value={theme()}
          words={[
            ['auto', 'System'],
            ['light', 'Light'],
            ['dark', 'Dark'],
          ]}
          onChange={chooseTheme}
        />
      </div>
      <ul>
        <li>
          <a href="/app/settings">Your settings</a>
        </li>
        <li>
          {/* Another page of the server, so the browser opens it and not the router. */}
          <a href="/docs" target="_blank" rel="noreferrer">
            API documentation
          </a>
        </li>
        <li class="apart">
          <button type="button" onClick={leave}>
            Sign out
          </button>
        </li>
      </ul>
    </Menu>
  );
}
