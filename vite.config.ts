/**
 * Builds the console of `src/console` into `dist/console`: hashed files with their compressed forms beside them, for the service to
 * serve as they are. Nothing of it runs on the server.
 */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { defineConfig, type Plugin } from 'vite'

const out = path.resolve(import.meta.dirname, 'dist/console')

/** What compresses to less, and is asked for often enough. */
const compressible = /\.(html|js|css|svg)$/

/** Writes `.br` and `.gz` beside every text, so that the service compresses nothing itself. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    async closeBundle() {
      const files = await readdir(out, { recursive: true })
      const texts = files.filter(file => compressible.test(file))
      await Promise.all(
        texts.map(async file => {
          const text = await readFile(path.join(out, file))
          const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: text.length }
          await writeFile(path.join(out, `${file}.br`), await promisify(brotliCompress)(text, { params }))
          await writeFile(path.join(out, `${file}.gz`), await promisify(gzip)(text, { level: 9 }))
        }),
      )
    },
  }
}

/** The forms name a validator for their own tests; it makes code at run time, which the policy forbids, and is not wanted. */
function withoutTheirValidator(): Plugin {
  const nothing = '\0nothing'
  return {
    name: 'without-their-validator',
    enforce: 'pre',
    resolveId: id => (id === '@rjsf/validator-ajv8' ? nothing : undefined),
    load: id => (id === nothing ? 'export default {}' : undefined),
  }
}

/** Component library: what it would write into the page as styles, the policy blocks; `style/` says the same beforehand. */
function withoutInlineStyles(): Plugin {
  return {
    name: 'without-inline-styles',
    enforce: 'pre',
    load: id =>
      id.endsWith('/@mantine/core/esm/core/InlineStyles/InlineStyles.mjs')
        ? 'export function InlineStyles() { return null }'
        : undefined,
  }
}

export default defineConfig({
  root: path.resolve(import.meta.dirname, 'src/console'),
  base: '/console/',
  publicDir: false,
  plugins: [withoutTheirValidator(), withoutInlineStyles(), compressed()],
  // The content security policy takes nothing inline: no script, no style, no image as data.
  build: {
    // A part whose style was lost on the way would be drawn without: there is one, with the page.
    cssCodeSplit: false,
    outDir: out,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
    rolldownOptions: {
      onLog(level, log, tell) {
        // Libraries mark what runs in browsers alone; here everything does.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') tell(level, log)
      },
    },
  },
  // While developing: the console by Vite, everything else by a service.
  server: { proxy: { '/north': process.env.DROVER ?? 'http://127.0.0.1:8080' } },
})
