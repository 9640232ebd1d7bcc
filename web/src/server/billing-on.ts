import { effect, signal } from '@preact/signals';
import { getBilling } from './billing.ts';
import { organization } from './session.ts';

/** Whether this server takes payments, as far as the signed-in person may know: owners and admins. */
export const billingIsOn = signal(false);

effect(() => {
  const place = organization.value;
  billingIsOn.value = false;
  if (place === null || place.permission === 'MEMBER') return;
  getBilling().then(
    ({ billing_enabled: isOn }) => {
      if (organization.peek()?.organization_id === place.organization_id) billingIsOn.value = isOn;
    },
    () => {}, // its entry in the navigation stays away; who opens the page itself is told why
  );
});
