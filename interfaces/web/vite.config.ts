import { defineConfig, loadEnv } from 'vite'

/** Where a server listens while the page is being changed: `tanglewood serve … --http 127.0.0.1:7474`. */
const server = loadEnv('', '.', 'TANGLEWOOD_').TANGLEWOOD_HTTP ?? 'http://127.0.0.1:7474'
const toServer = { target: server, changeOrigin: true, headers: { origin: server } }

export default defineConfig({
  esbuild: { jsx: 'automatic' },
  worker: { format: 'es', rollupOptions: { output: { entryFileNames: 'page/layout.js' } } },
  build: {
    // Names without hashes: the server embeds these files by name and tells browsers by ETag whether they changed.
    rollupOptions: {
      output: {
        entryFileNames: 'page/page.js',
        assetFileNames: 'page/page[extname]',
        inlineDynamicImports: true,
      },
    },
    assetsInlineLimit: 0,
    modulePreload: false,
    target: 'es2022',
    outDir: '../../target/web',
    emptyOutDir: true,
    chunkSizeWarningLimit: 2_000,
  },
  server: { proxy: { '/db': toServer, '/tokens': toServer, '/discovery': { ...toServer, rewrite: () => '/' } } },
})
