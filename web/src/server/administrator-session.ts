import { effect, signal } from '@preact/signals';
import { session } from './session.ts';

/** Whether this browser has a session of the administrator beside that of a person, as far as anybody has found out. */
export const isAdministratorSignedIn = signal(false);

effect(() => {
  if (session.value.state === 'in')
    isAdministratorSignedIn.value = session.value.account.administrator_signed_in;
});
