/** Feeds are followed by their logs: no file reads a sorted set by time again and again. */
import t from 'tap'
import { sourceFiles, withoutComments } from './source.js'

/** What reads by score, and for what: each once for a request. Without lua.js, which is made of lua/. */
const BY_SCORE = {
  'src/layouts/ids.js': 'the newest page',
  'src/layouts/seek.js': 'the place where a page goes on',
  'src/layouts/values.js': 'the newest page',
  'src/store/commands.js': 'what users of the servers may send'
}
/** What follows feeds, and reads a sorted set: only for how far a log is ahead of the clock. */
const OF_FOLLOWERS = { 'src/view/log-history.js': ["'ZREVRANGE', part.aheadName"] }

const sources = (await sourceFiles()).filter(({ file }) => file.startsWith('src/') && file !== 'src/store/lua.js')
  .map(({ file, text }) => ({ file, text: withoutComments(text) }))
const followers = sources.filter(({ file }) => /^src\/(view|push|client|http|replies)\//.test(file))

t.test('only pages read a sorted set by score', async (t) => {
  t.same(sources.filter(({ text }) => /'Z\w*RANGEBYSCORE'|'BYSCORE'/.test(text)).map(({ file }) => file), Object.keys(BY_SCORE))
})

t.test('views and streams read none', async (t) => {
  t.ok(followers.length > 50)
  const found = followers.map(({ file, text }) => [file, text.match(/'Z[A-Z]+'[^,)\]]*(?:, [\w.]+)?/g) ?? []])
    .filter(([, commands]) => commands.length > 0)
  t.same(Object.fromEntries(found), OF_FOLLOWERS)
})
