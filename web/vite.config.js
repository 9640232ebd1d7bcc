import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

/** Browsers that know `light-dark()`, popovers and `Promise.withResolvers`: those of 2024 and later. */
const browsers = ['chrome123', 'edge123', 'firefox125', 'safari17.5'];

/** The dashboard: one page under /app/, and its files under /assets/, whose names contain a hash of the content. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  base: '/',
  publicDir: false,
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    assetsDir: 'assets',
    assetsInlineLimit: 0,
    target: browsers,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
