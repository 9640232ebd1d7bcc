import { signal } from '@preact/signals';

/** Which of the dialogs that open over any page is open. */

export type OverlayName = 'palette' | 'shortcuts';

export interface OverlayProps {
  readonly onClose: () => void;
}

export const openOverlayName = signal<OverlayName | null>(null);

export function openOverlay(name: OverlayName): void {
  openOverlayName.value = name;
}

export function closeOverlay(): void {
  openOverlayName.value = null;
}

/** Label of the key combination of the command palette. */
export const paletteKeys = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘ K' : 'Ctrl K';
