import { effect, signal } from '@preact/signals';
import { session } from './session.ts';

/** Whether this browser has a session of the administrator beside that of a person, as far as anybody has found out. */
export const administratorIsIn = signal(false);

effect(() => {
  if (session.value.state === 'in') administratorIsIn.value = session.value.who.administrator_signed_in;
});
