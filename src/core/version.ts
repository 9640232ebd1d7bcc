/** Version of Quarry and of its API; a test compares it with package.json. */
export const version = '0.1.0';
