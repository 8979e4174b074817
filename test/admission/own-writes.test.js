/** What is written of commands with rules of users when the server refuses some of it: per command all or nothing, and the key goes on. */
import t from 'tap'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { callsOf, contentOf, ownRules } from './returned-calls.js'

const TEXT = `return function (state, args)
  local op, n = args[1], tonumber(args[2] or '1')
  if op == 'look' then return 'looked', { n = state.n or '' } end
  state.n = (state.n or 0) + 1
  local event = { type = op, n = state.n }
  if op == 'note' then return op, {}, {} end
  if op == 'member' then return op, {}, { events = { event }, members = { ann = n > 0 and n } } end
  if op == 'hold' then return op, {}, { events = { event }, holds = { ann = n > 0 and n } } end
  if op == 'wait' then return op, {}, { events = { event }, waiting = { ann = n > 0 and n } } end
  if op == 'plan' then return op, {}, { events = { event }, tasks = { ring = n > 0 and 4e12 } } end
  if op == 'forget' then state.n = nil return op, {}, { events = { event } } end
  if op == 'end' then return op, {}, { events = { event }, ends = true } end
  if op == 'reopen' then return op, {}, { events = { event }, reopens = true } end
  return op, {}, { events = { event } }
end`
const RULES = { seat: { text: TEXT, version: 1, keeps: ['members', 'holds', 'waiting'], keepEvents: 1000 } }
const KEYS = ['a', 'b']
const go = (/** @type {string} */ key, /** @type {string} */ op = 'go', id = '') => ({ key, id, args: [op] })

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url } = await startServer(t, { engine })
    const connection = await connectFor(t, url)
    let prefixes = 0

    /** Calls of a partition of its own, what it holds, and what is logged. */
    function start (given = connection, prefix = `p${++prefixes}:`, changes = /** @type {import('./returned-calls.js').Change[]} */ ([])) {
      const logged = /** @type {any[]} */ ([])
      const calls = callsOf(given, prefix, ownRules(RULES, changes), { warn: (/** @type {any} */ fields) => { logged.push(fields) } })
      return { ...calls, logged, prefix, content: () => contentOf(connection, calls.keyOf, KEYS) }
    }
    const statuses = (/** @type {any[]} */ decisions) => decisions.map(({ status }) => status)

    await t.test('a permission that is missing fails the commands that need it, and they can be repeated', async (t) => {
      /** @type {Record<string, [command: string[], needs: { key: string, id: string, args: string[] }, before?: string[]]>} */
      const needed = {
        XADD: [['-xadd'], go('a', 'go', 'r')],
        XTRIM: [['-xtrim'], go('a', 'note', 'r')],
        HSET: [['-hset'], go('a', 'note', 'r')],
        'HDEL of the state': [['-hdel'], go('a', 'forget', 'r')],
        'HDEL of a member': [['-hdel'], { key: 'a', id: 'r', args: ['member', '0'] }, ['member', '1']],
        SET: [['-set'], go('a', 'go', 'r')],
        'ZADD of a hold': [['-zadd'], go('a', 'hold', 'r')],
        'ZREM of somebody who waits': [['-zrem'], { key: 'a', id: 'r', args: ['wait', '0'] }, ['wait', '1']],
        'ZADD of a task': [['-zadd'], go('a', 'plan', 'r')],
        PEXPIRE: [['-pexpire'], go('a', 'end', 'r')],
        HINCRBY: [['-hincrby'], go('a', 'reopen', 'r')],
        'a key': [['resetkeys', ...['state:*', 'events:*', 'outbox', 'tasks', 'generation', 'request:*'].map((one) => `~*${one}`), '%R~*'],
          go('a', 'hold', 'r')]
      }
      await connection.send('ACL', 'SETUSER', 'limited', 'reset', 'on', '>word', '~*', '+@all')
      const limited = await connectFor(t, url.replace('//', '//limited:word@'))
      for (const [name, [rules, command, before]] of Object.entries(needed)) {
        await connection.send('ACL', 'SETUSER', 'limited', 'resetkeys', '~*', '+@all')
        const { call, content } = start(limited)
        await call([go('a'), go('b')])
        if (before) await call([{ key: 'a', args: before }])
        const stored = await content()
        await connection.send('ACL', 'SETUSER', 'limited', ...rules)
        const calling = call([go('b', 'look'), command, go('b', 'look')])
        // without HSET or a key no call is accepted
        if (['HSET', 'a key'].includes(name)) await t.rejects(calling, /permission|can't run/i, name)
        else {
          const failed = { status: 'failed', why: /NOPERM the user may not run [A-Z]+/ }
          t.match(await calling, [{ status: 'rejected' }, failed, { status: 'rejected' }], name)
        }
        t.same(await content(), stored, name)
        await connection.send('ACL', 'SETUSER', 'limited', 'resetkeys', '~*', '+@all')
        t.match(await call([command]), [{ status: 'accepted', seq: command.args[0] === 'note' ? 1 : stored.keys.a.seq + 1 }], name)
      }
    })

    await t.test('an outbox of another type refuses the call, tasks of another type the commands that need them', async (t) => {
      const { call, keyOf, content } = start()
      await call([go('a')])
      const stored = await content()
      await connection.send('RENAME', keyOf('outbox'), keyOf('kept'))
      await connection.send('SET', keyOf('outbox'), 'x')
      await t.rejects(call([go('a'), go('b')]), /WRONGTYPE/)
      await connection.send('RENAME', keyOf('kept'), keyOf('outbox'))
      t.same(await content(), stored)
      await connection.send('SET', keyOf('tasks'), 'x')
      t.same(statuses(await call([go('a', 'plan', 'r'), go('a', 'hold'), go('b')])), ['failed', 'failed', 'accepted'])
      await connection.send('UNLINK', keyOf('tasks'))
      t.match((await content()).keys, { a: stored.keys.a, b: { seq: 1, version: 1 } })
      t.match(await call([go('a', 'plan', 'r')]), [{ status: 'accepted', seq: 2 }])
    })

    await t.test('an outbox that is ahead of the clock is continued behind its last id', async (t) => {
      const { call, keyOf, content } = start()
      const ahead = Date.now() + 600_000
      await connection.send('XADD', keyOf('outbox'), `${ahead}-7`, 'rule', 'x', 'key', 'x', 'ts', '0', 'request', '', 'seq', '0')
      t.same(statuses(await call([go('a'), go('b'), go('a')])), ['accepted', 'accepted', 'accepted'])
      const { outbox, keys } = await content()
      t.same(outbox.slice(1).map(({ key, seq }) => `${key} ${seq}`), ['a 1', 'b 1', 'a 2'])
      t.match(keys, { a: { seq: 2 }, b: { seq: 1 } })
      const [[last]] = await connection.send('XREVRANGE', keyOf('outbox'), '+', '-', 'COUNT', 1)
      t.equal(String(last), `${ahead}-10`)
    })

    await t.test('a server without memory refuses the call, with nothing stored', async (t) => {
      const { call, content } = start()
      await call([go('a')])
      const stored = await content()
      await connection.send('CONFIG', 'SET', 'maxmemory', '1mb')
      await t.rejects(call([go('a'), go('b')]), /OOM/)
      await connection.send('CONFIG', 'SET', 'maxmemory', '0')
      t.same(await content(), stored)
    })

    await t.test('events ahead of the state are logged with key and sequence, and their request is not decided again', async (t) => {
      const { call, keyOf, content, logged, requestOf } = start()
      await call([go('a')])
      // as an earlier version left it: events and outbox without state and request
      const request = requestOf('a', 'half')
      await connection.send('XADD', keyOf('events:a'), '2-0', 'seq', 2, 'ts', 0, 'type', 'go')
      await connection.send('XADD', keyOf('outbox'), '*', 'rule', 'seat', 'key', 'a', 'ts', 0, 'request', request, 'seq', 2, 'version', 2,
        'type', 'go')
      t.match(await call([go('a', 'go', 'half'), go('a', 'look'), go('b')]), [
        { status: 'failed', why: /an earlier call failed after it had stored events of this request, so it is not decided again/ },
        { status: 'rejected', seq: 2 }, { status: 'accepted', seq: 1 }
      ])
      t.same(logged, [], 'nothing of the key was stored')
      t.match(await call([go('a', 'go', 'whole'), go('a', 'go', 'half'), go('a')]),
        [{ status: 'accepted', seq: 3, version: 2 }, { status: 'failed' }, { status: 'accepted', seq: 4, version: 3 }])
      t.same(logged, [{ rule: 'seat', key: 'a', stateSeq: 1, seq: 4 }])
      t.same(statuses(await call([go('a', 'go', 'half'), go('a', 'go', 'whole')])), ['failed', 'replay'])
      t.match((await content()).keys.a, { state: { n: '3' }, seq: 4, version: 3 })
      t.equal(logged.length, 1)
    })

    const fault = (/** @type {string} */ where) =>
      /** @type {const} */ ([where, `if target.key == 'a' then error('no such luck') end\n${where}`])
    const places = ['  local flat, removed = {', '  for i = 1, #removed, 1000 do',
      "    for i = target.first, target.last do redis.call('PEXPIRE'"]
    for (const where of places) {
      await t.test(`a write that fails all the same undoes what was written of its key: before ${where.trim()}`, async (t) => {
        const broken = start(connection, undefined, [fault(where)])
        const { call, logged, content } = start(connection, broken.prefix)
        await call([go('a', 'hold', 'first'), go('b')])
        const stored = await content()
        const commands = [go('a', 'end', 'r'), go('b', 'end', 's'), go('a', 'look'), go('b')]
        t.match(await broken.call(commands), [
          { status: 'failed', why: /no such luck/ }, { status: 'accepted', seq: 2 }, { status: 'failed' }, { status: 'accepted', seq: 3 }
        ])
        const found = await content()
        t.same(found.keys.a, stored.keys.a)
        t.match(found.keys.b, { seq: 3, version: 3 })
        t.same(found.outbox.map(({ key, seq }) => `${key} ${seq}`), ['a 1', 'b 1', 'b 2', 'b 3'])
        t.equal(found.requests.length, 2)
        t.match(await call(commands), [
          { status: 'accepted', seq: 3, version: 2 }, { status: 'replay', seq: 2 }, { status: 'rejected' }, { status: 'accepted', seq: 4 }
        ])
        t.same(logged, [{ rule: 'seat', key: 'a', stateSeq: 1, seq: 3 }])
      })
    }

    await t.test('each part of a key that has ended expires, also one that is written later', async (t) => {
      const { call, keyOf } = start()
      const parts = ['state', 'events', 'members', 'holds', 'waiting'].map((part) => keyOf(`${part}:a`))
      const left = async () => Promise.all(parts.map(async (part) => Number(await connection.send('PTTL', part))))
      await call([go('a', 'note'), go('a', 'end')])
      for (const op of ['member', 'hold', 'wait', 'go']) {
        for (const part of parts) if (await connection.send('EXISTS', part)) await connection.send('PEXPIRE', part, 100_000)
        await call([go('a', op)])
        t.same((await left()).filter((ms) => ms !== -2 && ms < 500_000), [], op)
      }
      for (const part of parts) await connection.send('PEXPIRE', part, 0)
      t.match(await call([go('a')]), [{ status: 'accepted', seq: 1, version: 1 }])
      t.same((await left()).filter((ms) => ms !== -2), [-1, -1])
    })
  })
}
