import { localize } from '../localize.ts';

export const texts = localize('server', {
  thisDeviceAlreadyHasA: 'This device already has a passkey of your account.',
  invalidJsonError: 'Invalid JSON: {error}',
  theConnectionEndedBeforeThe: 'The connection ended before the answer was complete. Try again.',
  theServerIsNotResponding: 'The server is not responding. Your input is kept. Try again shortly.',
  theReplyDidNotCome: 'The reply did not come from the Quarry server. A proxy may require you to sign in.',
  signInToContinue: 'Sign in to continue.',
  theServerReturnedStatusStatus: 'The server returned status {status}.',
});
