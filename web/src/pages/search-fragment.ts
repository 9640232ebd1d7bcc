import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { AsyncAction } from '../server/use-async-action.ts';
import { isRunnable, repliesFor, searchQuery } from './search-query.ts';
import { fromFragment, toFragment } from './search-settings.ts';

/** Time after the last change, so that typing does not change the URL with each letter. */
const writeDelayMs = 300;

/**
 * Keeps the query in the URL, and runs the query of a URL that is opened, reloaded or changed. Returns a function that
 * runs the query of a fragment.
 */
export function useQueryInUrl(selected: string | null, submission: AsyncAction): (fragment: string) => void {
  // This page stays while the code of the next one loads, whose URL is the current one already.
  const [ownPath] = useState(() => window.location.pathname);
  const [toRun, setToRun] = useState(readFragment);
  useEffect(() => {
    const apply = () => setToRun(readFragment());
    window.addEventListener('hashchange', apply);
    return () => window.removeEventListener('hashchange', apply);
  }, []);
  const { url } = useLocation();
  const openedUrl = useRef(url);
  useEffect(() => {
    // A link to this page, such as one in the command palette, causes no event.
    if (url !== openedUrl.current && url.includes('#')) setToRun(readFragment());
    openedUrl.current = url;
  }, [url]);
  useEffect(() => {
    if (toRun === null || selected === null) return;
    setToRun(null);
    if (isRunnable(searchQuery.peek())) submission.start();
  }, [toRun, selected]);

  const fragment = toFragment(searchQuery.value);
  useEffect(() => {
    const write = () => {
      const { pathname, search, hash } = window.location;
      if (pathname === ownPath && hash !== fragment)
        window.history.replaceState(window.history.state, '', pathname + search + fragment);
    };
    const timer = setTimeout(write, writeDelayMs);
    return () => clearTimeout(timer);
  }, [fragment, selected]);

  return (toApply) => {
    searchQuery.value = fromFragment(toApply);
    setToRun(toApply);
  };

  /** Takes the query from the URL; returns its fragment if the query must run. */
  function readFragment(): string | null {
    const { pathname, hash } = window.location;
    if (pathname !== ownPath || hash === '') return null;
    const query = fromFragment(hash);
    const hasChanged = toFragment(query) !== toFragment(searchQuery.peek());
    if (hasChanged) searchQuery.value = query;
    return hasChanged || repliesFor(selected) === null ? hash : null;
  }
}
