/** IDs in the request examples of the documentation. */

export const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
export const keyExample = {
  ...organizationExample,
  api_key_id: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21',
} as const;
export const userExample = { user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44' } as const;
export const memberExample = {
  ...organizationExample,
  user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44',
} as const;
