/** docs/system-parts.md and docs/api.md show parts of systems, options and methods as their types describe them. */
import t from 'tap'
import { checkPage, typesOf } from './typed.js'

const DEFINITION = 'src/systems/definition.js'
const OPENED = 'src/systems/opened-types.js'
/** in the order in which a module is written */
const PARTS = ['SystemData', 'Rule', 'CommandRoute', 'QueryRoute', 'Kept', 'StreamRoute', 'Setting', 'Handlers', 'Rows', 'Page', 'Demo',
  'OwnCommand', 'OwnQuery', 'GatewayParts', 'Waits', 'ReaderParts', 'ConsumerParts', 'EmbeddedServices']
const OPENED_PARTS = ['SystemOptions', 'Command', 'Decision']

t.test('docs/system-parts.md shows every part of a system as its type describes it', async (t) => {
  const types = await typesOf(DEFINITION)
  t.same([...types.keys()].filter((name) => /Parts$|Route$|^Own(Command|Query)/.test(name) && !PARTS.includes(name)), [], 'no part is left out')
  await checkPage(t, 'docs/system-parts.md', 'parts', [[DEFINITION, PARTS], [OPENED, OPENED_PARTS]])
})

t.test('docs/api.md shows the library as its types describe it', async (t) => {
  await checkPage(t, 'docs/api.md', 'api', [
    ['src/feed.js', ['Feed']], ['src/reading.js', ['Reading', 'PageOptions', 'SubscribeOptions']], ['src/reader.js', ['Reader']],
    ['src/options.js', ['ServerOptions', 'WriteOptions']], ['src/client.js', ['FollowOptions']],
    ['readers/handler.js', ['HandlerOptions', 'ReaderHandler']]
  ])
})
