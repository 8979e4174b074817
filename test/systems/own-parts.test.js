/** Parts of a module that ours have, too: several streams, claimants, a page with faults, a crowd, findings of doctor. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { endOfMain } from '../bin/in-process.js'
import { eventually } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const CROWD = new URL('../../demo/crowd-thread.js', import.meta.url)
const LUA = `return function (state, args, now)
  local left = tonumber(state.left or '2')
  if state[args[2]] then return 'claimed', { claim = state[args[2]], left = left } end
  if left == 0 then return 'none_left', {} end
  state.left, state[args[2]] = left - 1, 'c-' .. args[2]
  local event = { type = 'claimed', claim = 'c-' .. args[2], user = args[2], left = left - 1 }
  return 'claimed', { claim = 'c-' .. args[2], left = left - 1 }, { events = { event } }
end`
const MODULE = `export default {
  name: 'gifts',
  rules: { gift: {
    lua: ${JSON.stringify(LUA)},
    certain: (state) => state.left === '0' ? 'none_left' : null,
    claimant: ([, user]) => user
  } },
  settings: { limit: { description: 'Of the crowd', type: 'integer', default: 1 } },
  commands: { claim: {
    path: '/v1/gifts/:id', summary: 'Claim', body: { user: { type: 'string' } }, replies: { claimed: 201, none_left: 200 },
    command: ({ params, body }) => ({ rule: 'gift', key: params.id, args: ['claim', body.user] })
  } },
  reader: ({ viewers, get }) => {
    const hub = viewers({
      shown: ({ state }) => ({ bytes: Buffer.from('event: left\\\\ndata: ' + (state.left ?? '2') + '\\\\n\\\\n') }),
      sendTo ({ bytes }, stream, last, send) { if (last !== String(bytes)) send(stream, bytes); return String(bytes) }
    })
    return { queries: { hub, get }, close: hub.close }
  },
  stream: [
    {
      path: '/v1/gifts/:id/live', summary: 'Events', snapshot: ({ state }) => ({ left: state.left }),
      event: ({ user, left }) => ({ user, left })
    },
    { path: '/v1/gifts/:id/names', summary: 'Names', snapshot: () => ({}), event: ({ user }) => user, named: 'name' },
    {
      path: '/v1/gifts/:id/left', summary: 'What is left',
      source: async ({ params: { id } }, { hub, get }) => { await get(id); return hub.sourceOf(id, '') }
    }
  ],
  page: { folder: new URL('./page/', import.meta.url), summary: 'Gifts', hasFaults: true, isOfCommands: true },
  demo: {
    about: 'gifts', commands: 'POST gifts', tasks: 'none',
    crowd: async () => ({
      async runCrowd ({ gatewayUrl, readerUrl, settings, isActive, print }) {
        const { status } = await fetch(gatewayUrl + '/v1/gifts/crowd', {
          method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ user: 'zoe' })
        })
        print([status, settings.limit, isActive, readerUrl].join(' '))
      }
    })
  },
  findings: async ({ redisUrl, limit }, deadlineMs, { look }) => ({
    rows: [['gifts', 'limit ' + limit, (await look('dynamodb')).program.split(' ')[0]]],
    problems: redisUrl === null ? [] : ['The hall of gifts is closed.']
  })
}`.replaceAll('\\\\n', '\\n')

const folder = await mkdtemp(join(tmpdir(), 'freshet-parts-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const path = join(folder, 'gifts.js')
await mkdir(join(folder, 'page'))
await Promise.all([writeFile(path, MODULE), writeFile(join(folder, 'page/index.html'), '<!doctype html><title>Gifts</title>')])
const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
const flags = ['--systems', path]

/** @param {import('tap').Test} t @param {string} url @returns {Promise<{ text: string }>} of a stream, as it comes */
async function streamOf (t, url) {
  const over = new AbortController()
  t.teardown(() => over.abort())
  const { body } = await fetch(url, { signal: over.signal })
  const all = { text: '' }
  const read = async () => { for await (const part of /** @type {any} */ (body)) all.text += Buffer.from(part) }
  read().catch(() => {})
  return all
}

t.test('several streams of a key, one with a source; a page that switches faults; a crowd', async (t) => {
  const [gateway, reader] = await Promise.all([
    startGateway(t, { redisUrl, keyPrefix, flags }),
    startReader(t, { redisUrl, keyPrefix, flags: [...flags, '--read-from', 'primary', '--gateway-url', 'http://127.0.0.1:9'] })
  ])
  const claim = (/** @type {string} */ user, key = 'a') =>
    gateway.send('POST', `/v1/gifts/${key}`, JSON.stringify({ user }), { 'content-type': 'application/json' })
  t.match(await claim('ann'), { status: 201, json: { claim: 'c-ann', left: 1 } })
  const [live, names, left] = await Promise.all(['live', 'names', 'left'].map((name) => streamOf(t, `${reader.url}/v1/gifts/a/${name}`)))
  await eventually(() => /snapshot/.test(live.text) && /snapshot/.test(names.text) && /data: 1/.test(left.text))
  t.match(await claim('bob'), { status: 201, json: { left: 0 } })
  await eventually(() => /event: claimed[^]*"user":"bob"/.test(live.text) && /event: name[^]*"bob"/.test(names.text) && /data: 0/.test(left.text))

  const page = await fetch(`${reader.url}/gifts`)
  t.match(await page.text(), /<title>Gifts/)
  t.match(page.headers.get('content-security-policy'), /connect-src 'self'.* http:\/\/127\.0\.0\.1:\*/)

  const thread = new Worker(CROWD, {
    workerData: { system: path, gatewayUrl: gateway.url, readerUrl: reader.url, settings: { limit: 7 }, isActive: true }
  })
  t.teardown(() => thread.terminate())
  t.equal(await new Promise((resolve, reject) => thread.once('message', resolve).once('error', reject)), `201 7 true ${reader.url}`)
})

t.test('a claimant gets the claim although nothing is left; others are answered from memory', async (t) => {
  const { default: { name, rules } } = await import(path)
  const system = await openSystem({ name, rules }, { redisUrl, keyPrefix: `${keyPrefix}c:`, partitions: 1, deadlineMs: 10_000 })
  t.teardown(() => system.close())
  const claim = (/** @type {string} */ user) => system.submit({ rule: 'gift', key: 'a', args: ['claim', user] })
  for (const user of ['ann', 'bob']) t.match(await claim(user), { accepted: true })
  await eventually(async () => (await claim('cid')).code === 'none_left' && system.account.cached > 0)
  t.match(await claim('ann'), { code: 'claimed', accepted: false, details: { claim: 'c-ann' } })
})

t.test('its findings are rows and problems of doctor', async (t) => {
  const none = await endOfMain(['doctor', ...flags, '--limit', '9'])
  t.match(none.stdout, /^gifts +limit 9 +dynalite/m)
  const closed = await endOfMain(['doctor', ...flags, '--redis-url', redisUrl], { env: { GIFTS_LIMIT: '3' } })
  t.match(closed, { code: 1, stdout: /^gifts +limit 3 [^]*Problems:\n {2}The hall of gifts is closed\./m })
})
