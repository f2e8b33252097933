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
          const params = {
            [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
            [constants.BROTLI_PARAM_SIZE_HINT]: text.length,
          }
          await writeFile(path.join(out, `${file}.br`), await promisify(brotliCompress)(text, { params }))
          await writeFile(path.join(out, `${file}.gz`), await promisify(gzip)(text, { level: 9 }))
        }),
      )
    },
  }
}

/**
 * The forms name a validator for their own tests, which makes code at run time: the policy forbids that, and it is not wanted. They read
 * descriptions as Markdown where a form asks for it; none here does.
 */
function withoutWhatTheyName(): Plugin {
  const instead = new Map([
    ['@rjsf/validator-ajv8', 'export default {}'],
    ['markdown-to-jsx/react', 'export const Markdown = ({ children }) => children'],
  ])
  return {
    name: 'without-what-they-name',
    enforce: 'pre',
    resolveId: id => (instead.has(id) ? `\0${id}` : undefined),
    load: id => instead.get(id.replace('\0', '')),
  }
}

/** The forms bring their own looks and fields for all that could be asked of them; what is drawn here is `parts/form-*.tsx`. */
function withoutTheirLooks(): Plugin {
  const looks = /@rjsf\/core\/lib\/components\/(templates|widgets)\/index\.js$/
  const fields = /@rjsf\/core\/lib\/components\/fields\/index\.js$/
  return {
    name: 'without-their-looks',
    enforce: 'pre',
    load(id) {
      if (looks.test(id)) return 'export default () => ({ ButtonTemplates: {} })'
      // A schema says nothing of grids.
      return fields.test(id) ? readFile(id, 'utf8').then(text => text.replace(/^.*\bLayout\w+.*$/gm, '')) : undefined
    },
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
  plugins: [withoutWhatTheyName(), withoutTheirLooks(), withoutInlineStyles(), compressed()],
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
