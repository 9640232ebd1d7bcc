import { effect, signal } from '@preact/signals';
import { session } from './session.ts';

/** Whether this browser has an administrator session in addition to a user session, as far as known. */
export const isAdministratorSignedIn = signal(false);

effect(() => {
  if (session.value.state === 'in')
    isAdministratorSignedIn.value = session.value.account.administrator_signed_in;
});
