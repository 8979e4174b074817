/** The library of systems: what a rule may do, what becomes of it, and what each fault leads to. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { openSystem } from '../../src/systems/index.js'
import { startProxy } from '../proxy.js'
import { connectFor, engineName, eventually } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { openSeats, ruleOf, SEAT } from './seats.js'

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary: { url: redisUrl, port }, keyPrefix: prefix } = await sharedDeployment(t, { engine })
    const connection = await connectFor(t, redisUrl)
    let prefixes = 0
    const options = () => ({ redisUrl, keyPrefix: `${prefix}${++prefixes}:` })

    t.test('a command is decided, its state and events are stored, and a rejection stores nothing', async (t) => {
      const { system, submit } = await openSeats(t, options())
      t.equal(await system.get('A-12'), null)
      t.same(await system.submit({ rule: 'seat', key: 'A-12', args: ['hold', 'ann'], requestId: 'r-1' }),
        { code: 'held', accepted: true, seq: 1, version: 1, isReplay: false, details: { holder: 'ann' } })
      t.match(await system.get('A-12'), { key: 'A-12', state: { holder: 'ann' }, seq: 1, version: 1, generation: /^[0-9a-f]{12}\.0$/ })
      t.match(await submit('A-12', 'hold', 'bob'), { code: 'taken', accepted: false, seq: 1, version: 1, details: { holder: 'ann' } })
      t.match(await submit('A-12', 'note', 'aisle'), { code: 'noted', accepted: true, seq: 1, version: 2 })
      t.match(await submit('A-12'), { code: 'unknown_command', accepted: false })
      t.same((await system.get('A-12'))?.state, { holder: 'ann', note: 'aisle' })
      t.match(system.account, { accepted: 2, rejected: 2, failed: 0 })
    })

    t.test('a request id is accepted once; with other arguments it is another request', async (t) => {
      const where = options()
      const { system } = await openSeats(t, where)
      const command = { rule: 'seat', key: 'a', args: ['hold', 'ann'], requestId: 'r' }
      const replies = await Promise.all([system.submit(command), system.submit(command)])
      t.same(replies.map(({ code, isReplay, seq }) => [code, isReplay, seq]), [['held', false, 1], ['held', true, 1]])
      await t.rejects(system.submit({ ...command, args: ['hold', 'bob'] }), { code: 'REQUEST_DIFFERS' })
      t.equal((await system.get('a'))?.version, 1)
      t.match(await system.submit({ ...command, requestId: 'r2' }), { code: 'taken', isReplay: false }, 'a rejection is not kept')
      await system.submit({ rule: 'seat', key: 'a', args: ['note', 'x'] })
      t.equal((await connection.send('KEYS', `${where.keyPrefix}*request:*`)).length, 1, 'without a request id nothing is stored for it')
    })

    t.test('a submit whose reply was lost is settled by the same request id', async (t) => {
      const where = { ...options(), partitions: 1 }
      const proxy = await startProxy(t, port)
      const { system } = await openSeats(t, { ...where, redisUrl: proxy.url })
      const { system: other } = await openSeats(t, where)
      await system.submit({ rule: 'seat', key: 'warm', args: ['note', 'x'] })
      const line = proxy.lines.find(({ name }) => /-seats-\d+$/.test(name ?? ''))
      line?.goMute()
      const command = { rule: 'seat', key: 'a', args: ['hold', 'ann'], requestId: 'r' }
      const lost = t.rejects(system.submit(command), { code: 'SERVER_LOST' })
      await eventually(async () => (await other.get('a'))?.seq === 1)
      t.equal((await system.get('a'))?.seq, 1, 'reads have a connection of their own')
      line?.reset()
      await lost
      t.match(system.account, { accepted: 1, lost: 1 })
      const decision = await eventually(() => system.submit(command))
      t.match(decision, { code: 'held', accepted: true, isReplay: true, seq: 1, details: { holder: 'ann' } })
      t.match(await other.get('a'), { seq: 1, version: 1 })
    })

    t.test('values are texts and whole numbers, whatever else is RULE_FAILED, and commands beside it are decided', async (t) => {
      const bodies = {
        fraction: ['state.n = 1.5', /state\.n is 1\.5; expected a text, or a whole number up to 2\^53/],
        large: ['state.n = 2 ^ 53 + 2', /state\.n is 9007199254740994/],
        nan: ['state.n = 0 / 0', /state\.n is/],
        boolean: ['state.n = true', /state\.n is a boolean/],
        table: ['state.n = {}', /state\.n is a table/],
        name: ['state[1] = "x"', /a name in state is 1; expected a text/],
        engine: ['state["@seq"] = 7', /a field of the state is '@seq'/],
        detail: ['return "x", { n = 0.5 }', /the details\.n is 0\.5/],
        code: ['return nil', /the code is a nil/],
        third: ['return "x", {}, 7', /the third value is 7/],
        unknown: ['return "x", {}, { event = {} }', /a name in the third value is 'event'; expected events, tasks, ends or reopens/],
        undeclared: ['return "x", {}, { members = { a = "b" } }', /'members'; expected .* or what keeps of the rule declares/],
        reader: ['return read.member("a")', /attempt to index local 'read' \(a nil value\); a rule reads what it keeps: name the part in keeps/],
        typeless: ['return "x", {}, { events = { {} } }', /events\[1\] is a table; expected a table with a field 'type'/],
        single: ['return "x", {}, { events = { type = "x" } }', /events is a table; expected a list of tables/],
        reserved: ['return "x", {}, { events = { { type = "x", seq = 7 } } }', /a field of events\[1\] is 'seq'; expected another name/],
        task: ['return "x", {}, { tasks = { ["a b"] = 1 } }', /the name of a task is 'a b'/],
        long: ['return "x", {}, { tasks = { [string.rep("a", 65)] = 1 } }', /the name of a task is 'a+'/],
        due: ['return "x", {}, { tasks = { a = "soon" } }', /task a is 'soon'/],
        index: ['local a\nreturn a.b', /seat, line 5: attempt to index local 'a'/],
        raised: ['error("no such seat")', /seat, line 4: no such seat/],
        compared: ['return state.n < 7', /seat, line 4: attempt to compare .*; values of the state and arguments are texts: compare tonumber/],
        redis: ['return redis.call("PING")', /seat, line 4: attempt to index upvalue 'redis' \(a nil value\); a rule cannot use it/],
        global: ['shared = 1', /seat, line 4: .*(readonly|global).*; declare variables of a rule with local/]
      }
      for (const [name, [body, message]] of Object.entries(bodies)) {
        const good = "if args[1] == 'good' then state.n = (state.n or 0) + 1 return 'good', {}, {} end"
        const lua = ruleOf(`${good}\nif true then\n${body}\nend\nreturn 'x', {}, {}`)
        const { system, submit } = await openSeats(t, options(), { lua })
        const [before, failure, after] = await Promise.all(
          [submit('a', 'good'), submit('a', name).catch((error) => error), submit('a', 'good')])
        t.match(failure, { code: 'RULE_FAILED', message }, name)
        t.match([before, after], [{ version: 1 }, { version: 2 }], `${name}: neighbours`)
        t.same((await system.get('a'))?.state, { n: '2' }, name)
        t.equal(system.account.failed, 1)
      }
    })

    t.test('nothing of server and engine is in reach of a rule', async (t) => {
      const hidden = ['redis', 'server', 'KEYS', 'ARGV', '_G', 'getfenv', 'setfenv', 'load', 'loadstring', 'dofile', 'cjson', 'require',
        'os', 'cmsgpack', 'struct', 'debug', 'coroutine', 'print']
      const { submit } = await openSeats(t, options(), {
        lua: ruleOf(`return 'x', { found = ${hidden.map((name) => `(${name} and '${name} ' or '')`).join(' .. ')} }`)
      })
      t.same((await submit('a', 'x')).details, { found: '' })
      for (const name of ['outbox', 'tasks', 'targets', 'store']) {
        const { submit } = await openSeats(t, options(), { lua: ruleOf(`return 'x', { found = tostring(${name}) }`) })
        await t.rejects(submit('a', 'x'), { code: 'RULE_FAILED', message: /nonexistent global variable/ }, name)
      }
    })

    t.test('numbers are stored without exponent; pairs sees the state, nil removes a field, a rejection changes none', async (t) => {
      const { system, submit } = await openSeats(t, { ...options(), partitions: 1 }, {
        lua: ruleOf(`if args[1] == 'set' then
          state.big, state.negative, state.zero, state.text = 2 ^ 53, -12, -0, 'a\\nb'
          return 'set', { big = 2 ^ 53, text = 'a\\nb' }, { events = { { type = 'set', z = 1, a = 'x\\0y', m = 2 ^ 53 } } }
        end
        if args[1] == 'reject' then state.big, state.new = nil, 1 return 'rejected', {} end
        local names = {}
        for name in pairs(state) do names[#names + 1] = name state[name] = nil end
        table.sort(names)
        return 'cleared', { names = table.concat(names, ' ') }, {}`)
      })
      t.strictSame((await submit('a', 'set')).details, { big: 2 ** 53, text: 'a\nb' })
      t.same((await system.get('a'))?.state, { big: '9007199254740992', negative: '-12', zero: '0', text: 'a\nb' })
      const { value: event } = await system.follow('a').next()
      t.match(event, { seq: 1, type: 'set', z: '1', a: 'x\0y', m: '9007199254740992' })
      t.same(Object.keys(event ?? {}), ['seq', 'type', 'ts', 'a', 'm', 'z'])
      const [, , { details }] = await Promise.all([submit('b', 'set'), submit('a', 'reject'), submit('a', 'clear')])
      t.same(details, { names: 'big negative text zero' })
      t.match(await system.get('a'), { state: {}, version: 2 })
    })

    t.test('a rule that cannot be used is refused when the system is opened, with its line', async (t) => {
      const texts = {
        'return function (': /line 1: .*expected/,
        'local a = 1\nlocal b = = 2\nreturn function () end': /line 2: unexpected symbol near '='/,
        'return 7': /it returns a number; expected a function/,
        '\nerror("broken")': /seat, line 2: broken/,
        'return function () end\nend\nlocal outside = function ()': /line 2: '<eof>' expected near 'end'/
      }
      for (const [lua, message] of Object.entries(texts)) {
        await t.rejects(openSeats(t, options(), { lua }), { code: 'RULE_FAILED', message })
      }
    })

    t.test('another text needs a higher version, and a process with a lower one decides nothing more', async (t) => {
      const where = options()
      const old = await openSeats(t, where)
      await old.submit('a', 'hold', 'ann')
      await t.rejects(openSeats(t, where, { lua: `${SEAT}\n-- changed` }), { code: 'RULE_DIFFERS', message: /version 1 with another text; raise its version/ })
      await openSeats(t, where)
      const lua = SEAT.replace("'taken'", "'gone'")
      const newer = await openSeats(t, where, { lua, version: 2 })
      t.equal(await newer.code('a', 'hold', 'bob'), 'gone')
      t.equal(await old.code('a', 'hold', 'bob'), 'RULE_DIFFERS')
      t.match(old.system.status(), { ready: false, reasons: [/^RULE_DIFFERS: .*stored as version 2, and this process has version 1/] })
      await t.rejects(openSeats(t, where), { code: 'RULE_DIFFERS', message: /use the newer rule/ })
      t.equal((await old.system.get('a'))?.version, 1, 'it still reads')
    })

    t.test('two definitions of one system share what they both have', async (t) => {
      const where = options()
      const one = await openSeats(t, where)
      const hall = { lua: ruleOf("return 'hall', {}, {}") }
      const other = await openSystem({ name: 'seats', rules: { seat: { lua: SEAT }, hall } }, where)
      t.teardown(() => other.close())
      t.equal(await one.code('a', 'hold', 'ann'), 'held')
      t.match(await other.submit({ rule: 'hall', key: 'a', args: [] }), { code: 'hall', version: 2 })
      t.match(await other.submit({ rule: 'seat', key: 'a', args: ['hold', 'bob'] }), { code: 'taken' })
      t.equal(await one.code('a', 'hold', 'bob'), 'taken')
      await t.rejects(openSeats(t, { ...where, partitions: 4 }), { code: 'SYSTEM_DIFFERS', message: /16 partitions/ })
    })

    t.test('systems on one server do not see keys of each other', async (t) => {
      const where = options()
      const [one, other] = [await openSeats(t, where), await openSeats(t, where, { name: 'chairs' })]
      await one.submit('a', 'hold', 'ann')
      t.equal(await other.system.get('a'), null)
      t.match(await other.submit('a', 'hold', 'bob'), { code: 'held', seq: 1 })
    })

    t.test('a command counts as accepted when a replica has it, too; without an append-only file aof is refused', async (t) => {
      const { submit } = await openSeats(t, { ...options(), durability: 'replica' })
      t.match(await submit('a', 'hold', 'ann'), { code: 'held' })
      await t.rejects(openSeats(t, { ...options(), durability: 'aof' }), { code: 'DURABILITY_UNSUPPORTED' })
      await t.rejects(openSeats(t, { ...options(), durability: 16 }), { code: 'REPLICAS_TOO_FEW', message: /--durability 16 needs 16/ })
      for (const durability of [0, 17, 'all']) {
        await t.rejects(openSeats(t, { ...options(), durability }), { code: 'SETTINGS_INVALID', message: /a number of replicas, 1 to 16/ })
      }
    })

    t.test('a key that its rule has ended expires, with its events', async (t) => {
      const where = { ...options(), partitions: 1, keepMs: 60_000 }
      const lua = ruleOf("return 'ended', {}, { events = { { type = 'ended' } }, ends = args[1] == 'end' }")
      const { submit } = await openSeats(t, where, { lua })
      const left = () => Promise.all(['state', 'events'].map(async (part) =>
        Number(await connection.send('PTTL', admissionKey(where.keyPrefix, 'seats', 0)(`${part}:a`)))))
      await submit('a', 'go on')
      t.same(await left(), [-1, -1])
      await submit('a', 'end')
      for (const ms of await left()) t.ok(ms > 0 && ms <= 60_000, `${ms} ms`)
    })

    t.test('20,000 commands at once: those above the bound get an error, the others a decision, and nothing is lost', async (t) => {
      const { system, code } = await openSeats(t, { ...options(), partitions: 1, deadlineMs: 60_000 })
      const codes = await Promise.all(Array.from({ length: 20_000 }, () => code('a', 'note', 'x')))
      const full = codes.filter((one) => one === 'ADMISSION_FULL').length
      t.equal(codes.filter((one) => one === 'noted').length + full, 20_000)
      t.ok(full >= 9_000, `${full} above the bound of 10,000`)
      t.match(system.account, { accepted: 20_000 - full, full })
      t.equal((await system.get('a'))?.version, 20_000 - full)
    })

    t.test('certain rejections come from memory, until the generation grows', async (t) => {
      const lua = ruleOf(`if args[1] == 'refill' then
          state.left = 2
          return 'refilled', {}, { reopens = true, events = { { type = 'left', left = 2 } } }
        end
        local left = tonumber(state.left or '2')
        if left == 0 then return 'gone', {} end
        state.left = left - 1
        return 'took', {}, { events = { { type = 'left', left = left - 1 } } }`)
      const { system, code } = await openSeats(t, options(), {
        lua,
        fold: (/** @type {any} */ state, /** @type {any} */ { left }) => ({ ...state, left }),
        certain: (/** @type {any} */ { left }, /** @type {string[]} */ [op]) => op === 'take' && left === '0' ? 'gone' : null
      })
      t.same([await code('a', 'take'), await code('a', 'take')], ['took', 'took'])
      await eventually(async () => {
        t.equal(await code('a', 'take'), 'gone')
        return system.account.cached > 0
      })
      t.equal(await code('a', 'refill'), 'refilled')
      t.equal(await code('a', 'take'), 'took', 'facts of the last generation are not used')
    })

    t.test('what cannot be a command is refused before it is sent', async (t) => {
      const { system } = await openSeats(t, options())
      const good = { rule: 'seat', key: 'a', args: ['note', 'x'] }
      for (const bad of [{ rule: 'hall' }, { key: 'a b' }, { key: '' }, { key: 7 }, { args: 'hold' }, { args: [7] }, { args: ['\ud83d'] },
        { args: ['x'.repeat(70_000)] }, { requestId: 7 }]) {
        const command = /** @type {any} */ ({ ...good, ...bad })
        await t.rejects(system.submit(command), { code: 'ARGUMENT_INVALID' }, JSON.stringify(bad).slice(0, 60))
      }
      const number = /** @type {any} */ ({ ...good, args: ['note', 7] })
      await t.rejects(system.submit(number), { message: /args\[1\] of type number; expected a text; write numbers as String/ })
      await t.rejects(system.get('a b'), { code: 'ARGUMENT_INVALID' })
      await system.close()
      await t.rejects(system.submit(good), { code: 'PIPELINE_CLOSED' })
    })
  })
}
