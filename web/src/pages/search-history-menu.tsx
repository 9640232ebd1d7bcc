import { Menu } from '../components/menu.tsx';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/search.ts';
import { clearHistory, describeEntry, type HistoryEntry, searchHistory } from './search-history.ts';

/** Menu of the queries that were run in this browser. */
export function HistoryMenu({ onChoose }: { readonly onChoose: (entry: HistoryEntry) => void }) {
  const entries = searchHistory();
  return (
    <Menu
      class="button-menu history"
      label={
        <>
          {texts.history}
          <Icon name="down" />
        </>
      }
    >
      {entries.length === 0 ? (
        <p class="hint">{texts.queriesThatYouRunAppear}</p>
      ) : (
        <ul>
          {entries.map((entry) => (
            <li key={`${entry.collection}\n${entry.fragment}`}>
              <button type="button" onClick={() => onChoose(entry)}>
                <span class="menu-label cut">{describeEntry(entry)}</span>
                <span class="muted cut">{entry.collection}</span>
              </button>
            </li>
          ))}
          <li class="apart">
            <button type="button" onClick={clearHistory}>
              {texts.clearHistory}
            </button>
          </li>
        </ul>
      )}
    </Menu>
  );
}
