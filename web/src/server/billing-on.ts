import { computed, effect, signal, untracked } from '@preact/signals';
import { getBilling } from './billing.ts';
import { organization } from './session.ts';

/** Whether this server takes payments, as far as the signed-in person may know: owners and admins. */
export const billingIsOn = signal(false);

/** The organisation whose payments they may see: another one only when it or their role is another. */
const payer = computed(() => {
  const place = organization.value;
  return place === null || place.permission === 'MEMBER' ? null : place.organization_id;
});

effect(() => {
  const place = payer.value;
  billingIsOn.value = false;
  if (place === null) return;
  untracked(() => getBilling()).then(
    ({ billing_enabled: isOn }) => {
      if (payer.peek() === place) billingIsOn.value = isOn;
    },
    () => {}, // its entry in the navigation stays away; who opens the page itself is told why
  );
});
