import { signal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { errorMessage } from '../server/api-call.ts';
import { showToast } from './toasts.tsx';

/**
 * Part of a page whose code loads when it is first shown. After a failure, it loads when it is shown again; a dialog is
 * closed.
 */
export function lazyPart<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  const loaded = signal<ComponentType<Props> | null>(null);
  return function LazyPart(props: Props) {
    useEffect(() => {
      if (loaded.peek() !== null) return;
      load().then(
        (component) => {
          loaded.value = component;
        },
        (error: unknown) => {
          showToast(errorMessage(error), 'bad');
          if ('onClose' in props && typeof props.onClose === 'function') props.onClose();
        },
      );
    }, []);
    const Part = loaded.value;
    return Part === null ? null : <Part {...props} />;
  };
}
