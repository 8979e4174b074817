/**
 * Writer, gateway and reader processes are the first users of the library: they write and answer through src/index.js, so a
 * gap in the library shows here first. Besides, they only look at servers: figures, roles, definitions.
 */
import t from 'tap'
import { importsOf, sourceFiles, withoutComments } from '../architecture/source.js'

/** Exports that open a way to write or read other than the library's. */
const BEHIND_IT = [
  'openWritableFeed', 'openFeedWriter', 'openQueries', 'openConnection', 'openPublishedClient'
]
const IMPORT = /^import\s*\{([^}]*)\}\s*from\s*'[./]+\/src\/[^']+'/gm

const sources = (await sourceFiles()).filter(({ file }) => /^(writers|readers)\//.test(file))

t.test('writers and readers open feeds by the library', async (t) => {
  const users = sources.filter((source) => importsOf(source).includes('src/index.js')).map(({ file }) => file)
  t.same(users.sort(), ['readers/handler.js', 'readers/server.js', 'writers/gateway.js', 'writers/write-feed.js'])
})

t.test('they open nothing behind it', async (t) => {
  const names = sources.flatMap(({ file, text }) => [...withoutComments(text).matchAll(IMPORT)]
    .flatMap(([, list]) => list.split(',').map((name) => ({ file, name: name.trim().split(' ')[0] }))))
  t.ok(names.some(({ name }) => name === 'openFeed'))
  t.same(names.filter(({ name }) => BEHIND_IT.includes(name)), [])
})

t.test('what would be behind it exists', async (t) => {
  const entries = (await sourceFiles()).filter(({ file }) => /^src\/(\w+\/index|writable-feed)\.js$/.test(file)).map(({ text }) => text).join('\n')
  for (const name of BEHIND_IT) t.match(entries, new RegExp(`^export .*\\b${name}\\b`, 'm'), name)
})
