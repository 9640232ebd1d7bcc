import { isReachable } from '../server/api-call.ts';

/** Banner shown while the server is unreachable. */
export function ConnectionBanner() {
  return (
    <div class="banner-place" role="status">
      {!isReachable.value && (
        <p class="banner">No connection to the server. Reconnecting. Your input is kept.</p>
      )}
    </div>
  );
}
