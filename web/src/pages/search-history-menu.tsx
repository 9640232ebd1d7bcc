import { Menu } from '../components/menu.tsx';
import { Icon } from '../shell/icons.tsx';
import { clearHistory, type HistoryEntry, searchHistory } from './search-history.ts';
import { fromFragment } from './search-settings.ts';

/** Menu of the queries that were run in this browser. */
export function HistoryMenu({ onChoose }: { readonly onChoose: (entry: HistoryEntry) => void }) {
  const entries = searchHistory();
  return (
    <Menu
      class="button-menu history"
      label={
        <>
          History
          <Icon name="down" />
        </>
      }
    >
      {entries.length === 0 ? (
        <p class="hint">Queries that you run appear here. They stay in this browser.</p>
      ) : (
        <ul>
          {entries.map((entry) => (
            <li key={`${entry.collection}\n${entry.fragment}`}>
              <button type="button" onClick={() => onChoose(entry)}>
                <span class="menu-label cut">{fromFragment(entry.fragment).query}</span>
                <span class="muted cut">{entry.collection}</span>
              </button>
            </li>
          ))}
          <li class="apart">
            <button type="button" onClick={clearHistory}>
              Clear history
            </button>
          </li>
        </ul>
      )}
    </Menu>
  );
}
