import { isReachable } from '../server/api-call.ts';
import { texts } from '../texts/en/shell.ts';

/** Banner shown while the server is unreachable. */
export function ConnectionBanner() {
  return (
    <div class="banner-place" role="status">
      {!isReachable.value && <p class="banner">{texts.noConnectionToTheServer}</p>}
    </div>
  );
}
