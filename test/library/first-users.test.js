/**
 * Writer, gateway and reader processes are the first users of the library: what they write and answer goes through
 * src/index.js, so that whatever it cannot do is missed here first. Beside it they only look at servers: at the figures and
 * roles of nodes, and, before a feed is opened, at what is stored about it.
 */
import t from 'tap'
import { importsOf, sourceFiles } from '../architecture/source.js'

/** What writes items, or answers questions about them. */
const BEHIND_IT = /^src\/(feed\.js|view\/|pipeline\/(pipeline|intake|delivery|window|feed-writer|housekeeping)\.js|store\/(connection|log-connection|deployment)\.js|layouts\/(?!index\.js))/

const sources = (await sourceFiles()).filter(({ file }) => /^(writers|readers)\//.test(file))

t.test('writers and readers open feeds by the library', async (t) => {
  t.same(sources.filter((source) => importsOf(source).includes('src/index.js')).map(({ file }) => file).sort(), ['readers/server.js', 'writers/gateway.js', 'writers/write-feed.js'])
})

t.test('nothing of them reaches behind it', async (t) => {
  const past = sources.flatMap((source) => importsOf(source).filter((to) => BEHIND_IT.test(to)).map((to) => `${source.file}: ${to}`))
  // whether a node is a primary
  t.same(past, ['writers/gateway/primary.js: src/pipeline/feed-writer.js'])
  const { text } = /** @type {{ text: string }} */ (sources.find(({ file }) => file === 'writers/gateway/primary.js'))
  t.match(text, /^import \{ expectPrimary \} from '\.\.\/\.\.\/src\/pipeline\/feed-writer\.js'$/m)
})
