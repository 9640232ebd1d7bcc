import { isReachable } from '../server/api-call.ts';

/** Said as long as the server does not answer. */
export function ConnectionBanner() {
  return (
    <div class="banner-place" role="status">
      {!isReachable.value && (
        <p class="banner">No connection to the server. Trying again; nothing that you entered is lost.</p>
      )}
    </div>
  );
}
