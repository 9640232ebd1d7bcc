import { RadioGroup } from '../components/field.tsx';
import { Menu } from '../components/menu.tsx';
import { showToast } from '../components/toasts.tsx';
import { errorMessage } from '../server/api-call.ts';
import { session, signOut } from '../server/session.ts';
import { texts } from '../texts/en/shell.ts';
import { fill } from '../texts/format-text.ts';
import { type Language, languageNames, selectedLanguage, selectLanguage } from '../texts/language.ts';
import { Icon } from './icons.tsx';
import { openOverlay } from './overlay-state.ts';
import { currentTheme, setTheme } from './theme.ts';

/** Menu with the signed-in user, the theme and sign-out. */
export function UserMenu() {
  if (session.value.state !== 'in') return null;
  const { user } = session.value.account;
  const handleSignOut = () => {
    signOut().catch((error: unknown) => showToast(errorMessage(error), 'bad'));
  };
  return (
    <Menu
      class="user-cell"
      name={fill(texts.nameAccountAndAppearance, { name: user.name ?? user.email })}
      label={
        <>
          <span
            class="badge round"
            aria-hidden="true"
            data-letter={[...(user.name ?? user.email)][0]?.toUpperCase()}
          />
          <span class="switcher-name">{user.name ?? user.email}</span>
          <Icon name="down" />
        </>
      }
    >
      <div class="menu-choice">
        <RadioGroup
          legend={texts.appearance}
          name="theme"
          value={currentTheme()}
          options={[
            ['auto', texts.system],
            ['light', texts.light],
            ['dark', texts.dark],
          ]}
          onChange={setTheme}
        />
        <LanguageSelect />
      </div>
      <ul>
        <li>
          <a href="/app/settings">{texts.yourSettings}</a>
        </li>
        <li>
          {/* Served by the server, not by the router. */}
          <a href="/docs" target="_blank" rel="noreferrer">
            {texts.apiDocumentation}
          </a>
        </li>
        <li>
          <button type="button" onClick={() => openOverlay('shortcuts')}>
            {texts.keyboardShortcuts}
          </button>
        </li>
        <li class="apart">
          <button type="button" onClick={handleSignOut}>
            {texts.signOut}
          </button>
        </li>
      </ul>
    </Menu>
  );
}

function LanguageSelect() {
  return (
    <select
      aria-label={texts.language}
      value={selectedLanguage ?? ''}
      onChange={({ currentTarget: { value } }) => selectLanguage(value === '' ? null : (value as Language))}
    >
      <option value="">{texts.languageOfTheBrowser}</option>
      {Object.entries(languageNames).map(([each, name]) => (
        <option key={each} value={each} lang={each}>
          {name}
        </option>
      ))}
    </select>
  );
}
