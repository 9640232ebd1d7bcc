import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useShortcuts } from '../browser/keyboard.ts';
import { requestQueryFocus } from '../browser/query-focus.ts';
import { showToast } from '../components/toasts.tsx';
import { errorMessage } from '../server/api-call.ts';
import {
  closeOverlay,
  type OverlayName,
  type OverlayProps,
  openOverlay,
  openOverlayName,
} from './overlay-state.ts';

/** Dialogs that open over any page. Their code loads at first use. */

const loaders: Readonly<Record<OverlayName, () => Promise<ComponentType<OverlayProps>>>> = {
  palette: () => import('./command-palette.tsx').then(({ CommandPalette }) => CommandPalette),
  shortcuts: () => import('./shortcuts-dialog.tsx').then(({ ShortcutsDialog }) => ShortcutsDialog),
};

const loaded = signal<Partial<Record<OverlayName, ComponentType<OverlayProps>>>>({});

async function load(name: OverlayName): Promise<void> {
  try {
    const component = await loaders[name]();
    loaded.value = { ...loaded.peek(), [name]: component };
  } catch (error) {
    closeOverlay();
    showToast(errorMessage(error), 'bad');
  }
}

/** The open dialog, and the shortcuts that work on every page. */
export function Overlays() {
  const { path, route } = useLocation();
  const name = openOverlayName.value;
  useEffect(() => {
    if (name !== null && loaded.peek()[name] === undefined) void load(name);
  }, [name]);
  useShortcuts(({ key }) => {
    if (key === '?') openOverlay('shortcuts');
    else if (key === '/') {
      requestQueryFocus();
      if (path !== '/app/search') route('/app/search');
    } else return false;
    return true;
  });
  useEffect(() => {
    document.addEventListener('keydown', togglePalette);
    return () => {
      document.removeEventListener('keydown', togglePalette);
      closeOverlay();
    };
  }, []);
  const Open = name === null ? undefined : loaded.value[name];
  return Open === undefined ? null : <Open key={name} onClose={closeOverlay} />;
}

/** Also works in fields. Another dialog keeps the focus until it is closed. */
function togglePalette(event: KeyboardEvent): void {
  const { ctrlKey, metaKey, altKey, shiftKey, key, defaultPrevented } = event;
  if (defaultPrevented || altKey || shiftKey || !(ctrlKey || metaKey) || key.toLowerCase() !== 'k') return;
  const isPalette = openOverlayName.peek() === 'palette';
  if (!isPalette && document.querySelector('dialog[open]') !== null) return;
  if (isPalette) closeOverlay();
  else openOverlay('palette');
  event.preventDefault();
}
